// Collects problems while checking, so that a refusal lists all of them. Rules must not assume that an
// earlier rule held.
#pragma once

#include <utility>
#include <vector>

#include "base/result.h"

namespace outrider::base {

class Inspector {
 public:
  void require(bool holds, Problem problem) {
    if (!holds) problems_.push_back(std::move(problem));
  }
  void report(Problem problem) { problems_.push_back(std::move(problem)); }
  void report_all(Refusal refusal) {
    for (Problem& problem : refusal.problems) problems_.push_back(std::move(problem));
  }
  bool clean() const { return problems_.empty(); }
  const std::vector<Problem>& problems() const { return problems_; }
  Refusal refuse() && {
    OUTRIDER_CHECK(!problems_.empty());
    return Refusal{std::move(problems_)};
  }

 private:
  std::vector<Problem> problems_;
};

}  // namespace outrider::base
