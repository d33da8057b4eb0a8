// A plan or a refusal as the JSON object that scripts rely on (docs/plan.md), and two such objects compared.
#pragma once

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

// One line per field that differs between two printed plans: "field: old -> new". Empty: none.
std::vector<std::string> differences(const Json& old_plan, const Json& new_plan);

}  // namespace outrider::plan
