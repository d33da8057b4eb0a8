// Collects the problems of one file that may have thousands of them: the first are listed, the rest counted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::checkpoint {

inline constexpr std::size_t kProblemsListed = 20;

class ProblemList {
 public:
  // `source` names the file: each problem's field begins with it.
  explicit ProblemList(std::string source) : source_(std::move(source)) {}

  void add(std::string field, std::string found, std::string rule, std::string remedy = "");
  // The same for a field of a tensor; an empty field is the tensor as a whole.
  void add_for(std::string_view tensor, std::string_view field, std::string found, std::string rule);
  bool clean() const { return count_ == 0; }
  base::Refusal refuse() &&;

 private:
  std::string source_;
  std::vector<base::Problem> listed_;
  std::size_t count_ = 0;
};

}  // namespace outrider::checkpoint
