// A plan, a refusal or a rule for people, 100 columns wide. docs/plan.md says how to read it.
#pragma once

#include <string>

#include "plan/plan.h"

namespace outrider::plan {

inline constexpr std::size_t kTextColumns = 100;

std::string plan_text(const Plan& plan);
std::string refusal_text(Engine engine, const PlanRefusal& refusal);

// "12.3 GiB".
std::string bytes_text(std::int64_t bytes);
// Breaks at blanks; following lines begin with `indent` blanks.
std::string wrapped(const std::string& line, std::size_t indent, std::size_t columns = kTextColumns);

}  // namespace outrider::plan
