// A plan or a refusal as the JSON object that scripts rely on (docs/plan.md), and two such objects compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace outrider::plan {

// "target.tensor_parallel_size" -> value: every field of both roles.
std::vector<std::pair<std::string, Json>> derived_fields(const Plan& plan);

std::string json_text(const Plan& plan);
std::string json_text(Engine engine, const PlanRefusal& refusal);

// What the fingerprint is taken of: everything that ranks must agree on.
std::string canonical_text(const Plan& plan);

// A field that differs between two printed plans; absent: the plan has no such field.
struct Difference {
  std::string field;
  std::optional<Json> from, to;
};
std::vector<Difference> differences(const Json& old_plan, const Json& new_plan);

}  // namespace outrider::plan
