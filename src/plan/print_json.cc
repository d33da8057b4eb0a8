#include "plan/print_json.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json_write.h"

namespace outrider::plan {
namespace {

using base::JsonWriter;

std::string printed_name(std::string_view role, std::string_view field) {
  // The drafter's own block size is the rows of its block; its cache has the target's blocks.
  if (role == "target" && field == "kv_block_size") return "target.block_size";
  return std::string(role) + "." + std::string(field);
}

void add_role(std::vector<std::pair<std::string, Json>>& fields, std::string_view role,
              const RolePlan& plan) {
  base::for_each_field(plan.settings, [&](const auto& field, const auto& value) {
    fields.emplace_back(printed_name(role, field.note.printed), base::json_of(value));
  });
  base::for_each_field(plan.layout, [&](const auto& field, const auto& value) {
    fields.emplace_back(printed_name(role, field.name), base::json_of(value));
  });
}

template <class Struct>
void write_fields(JsonWriter& json, const Struct& value);

void write_value(JsonWriter& json, const RankBytes& bytes) {
  json.begin_object();
  write_fields(json, bytes);
  json.end_object();
}
template <class T>
void write_value(JsonWriter& json, const T& value) {
  json.value(base::json_of(value));
}
template <class Struct>
void write_fields(JsonWriter& json, const Struct& value) {
  base::for_each_field(value, [&](const auto& field, const auto& member) {
    json.key(field.name);
    write_value(json, member);
  });
}

void write_problems(JsonWriter& json, const std::vector<Problem>& problems) {
  json.key("problems").begin_array();
  for (const Problem& problem : problems) {
    json.begin_object();
    json.key("rule").value(problem.rule);
    json.key("field").value(problem.field);
    json.key("value").value(problem.value);
    json.key("message").value(problem.message);
    json.key("remedy").value(problem.remedy);
    json.key("reference").value(problem.reference);
    json.end_object();
  }
  json.end_array();
}

void write_derived(JsonWriter& json, const Plan& plan) {
  json.key("derived").begin_object();
  for (const auto& [field, value] : derived_fields(plan)) json.key(field).value(value);
  json.end_object();
  json.key("derivations").begin_array();
  for (const Derivation& derivation : plan.derivations) {
    json.begin_object();
    json.key("field").value(derivation.field);
    json.key("from").value(derivation.from);
    json.key("to").value(derivation.to);
    json.key("why").value(derivation.why);
    json.end_object();
  }
  json.end_array();
}

void write_ranks(JsonWriter& json, const Plan& plan) {
  json.key("ranks").begin_array();
  for (const RankPlan& rank : plan.ranks) {
    json.begin_object();
    write_fields(json, rank);
    json.end_object();
  }
  json.end_array();
  json.key("bytes").begin_object();
  write_fields(json, plan.bytes);
  json.end_object();
}

// Leaves of a tree by their path; lists of numbers count as leaves.
void flatten(const Json& tree, const std::string& path, std::vector<std::pair<std::string, Json>>& leaves) {
  if (const Json::Object* object = tree.object()) {
    for (const auto& [key, value] : *object) flatten(value, path.empty() ? key : path + "." + key, leaves);
    return;
  }
  const Json::Array* array = tree.array();
  const bool nested = array != nullptr && std::any_of(array->begin(), array->end(), [](const Json& item) {
                        return item.object() != nullptr;
                      });
  if (!nested) {
    leaves.emplace_back(path, tree);
    return;
  }
  for (std::size_t i = 0; i < array->size(); ++i)
    flatten((*array)[i], path + "[" + std::to_string(i) + "]", leaves);
}

}  // namespace

std::vector<std::pair<std::string, Json>> derived_fields(const Plan& plan) {
  std::vector<std::pair<std::string, Json>> fields;
  add_role(fields, "target", plan.target);
  if (!plan.draft) return fields;
  base::for_each_field(plan.draft->draft, [&](const auto& field, const auto& value) {
    fields.emplace_back(printed_name("draft", field.name), base::json_of(value));
  });
  if (plan.draft->role) add_role(fields, "draft", *plan.draft->role);
  return fields;
}

std::string canonical_text(const Plan& plan) {
  JsonWriter json;
  json.begin_object();
  json.key("as").value(name_of(plan.engine));
  json.key("derived").begin_object();
  for (const auto& [field, value] : derived_fields(plan)) json.key(field).value(value);
  json.end_object();
  write_ranks(json, plan);
  json.end_object();
  return json.text();
}

std::string json_text(const Plan& plan) {
  JsonWriter json;
  json.begin_object();
  json.key("verdict").value("plan");
  json.key("as").value(name_of(plan.engine));
  write_problems(json, {});
  write_derived(json, plan);
  write_ranks(json, plan);
  json.key("fingerprint").value(plan.fingerprint);
  json.end_object();
  return json.text();
}

std::string json_text(Engine engine, const PlanRefusal& refusal) {
  JsonWriter json;
  json.begin_object();
  json.key("verdict").value("refuse");
  json.key("as").value(name_of(engine));
  write_problems(json, refusal.problems);
  json.key("derived").begin_object().end_object();
  json.key("derivations").begin_array().end_array();
  json.key("ranks").begin_array().end_array();
  json.key("bytes").begin_object().end_object();
  json.key("fingerprint").value("");
  json.end_object();
  return json.text();
}

std::vector<Difference> differences(const Json& old_plan, const Json& new_plan) {
  std::vector<std::pair<std::string, Json>> before, after;
  for (const char* part : {"verdict", "as", "problems", "derived", "ranks", "bytes"}) {
    if (const Json* tree = old_plan.find(part))
      flatten(*tree, part == std::string_view("derived") ? "" : part, before);
    if (const Json* tree = new_plan.find(part))
      flatten(*tree, part == std::string_view("derived") ? "" : part, after);
  }
  std::map<std::string_view, const Json*> now, then;
  for (const auto& [path, value] : before) then[path] = &value;
  for (const auto& [path, value] : after) now[path] = &value;
  std::vector<Difference> found;
  for (const auto& [path, value] : before) {
    const auto at = now.find(path);
    if (at == now.end()) {
      found.push_back({.field = path, .from = value, .to = std::nullopt});
    } else if (*at->second != value) {
      found.push_back({.field = path, .from = value, .to = *at->second});
    }
  }
  for (const auto& [path, value] : after) {
    if (!then.contains(path)) found.push_back({.field = path, .from = std::nullopt, .to = value});
  }
  return found;
}

}  // namespace outrider::plan
