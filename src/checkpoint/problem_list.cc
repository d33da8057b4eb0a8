#include "checkpoint/problem_list.h"

#include <utility>

#include "base/strings.h"

namespace outrider::checkpoint {

void ProblemList::add(std::string field, std::string found, std::string rule, std::string remedy) {
  if (++count_ > kProblemsListed) return;
  listed_.push_back({.field = source_ + ": " + std::move(field),
                     .found = std::move(found),
                     .rule = std::move(rule),
                     .remedy = std::move(remedy)});
}

void ProblemList::add_for(std::string_view tensor, std::string_view field, std::string found,
                          std::string rule) {
  std::string place = "tensor " + base::printable(tensor);
  if (!field.empty()) place += ": " + std::string(field);
  add(std::move(place), std::move(found), std::move(rule));
}

base::Refusal ProblemList::refuse() && {
  OUTRIDER_CHECK(count_ > 0);
  if (count_ > kProblemsListed) {
    listed_.push_back({.field = source_,
                       .found = "",
                       .rule = "has " + std::to_string(count_) + " problems; the first " +
                               std::to_string(kProblemsListed) + " are listed",
                       .remedy = ""});
  }
  return base::Refusal{std::move(listed_)};
}

}  // namespace outrider::checkpoint
