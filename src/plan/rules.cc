#include "plan/rules.h"

#include <algorithm>

namespace outrider::plan {

void Reporter::refuse(std::string field, std::string value, std::string message, std::string remedy) {
  const std::string_view reference = engine_ == Engine::Vllm     ? rule_->vllm
                                     : engine_ == Engine::Trtllm ? rule_->trtllm
                                                                 : std::string_view();
  problems_.push_back({.rule = std::string(rule_->id),
                       .field = std::move(field),
                       .value = std::move(value),
                       .message = std::move(message),
                       .remedy = std::move(remedy),
                       .reference = std::string(reference)});
}

void Reporter::refuse_plainly(std::string field, std::string value, std::string message, std::string remedy) {
  refuse(std::move(field), std::move(value), std::move(message), std::move(remedy));
  problems_.back().reference.clear();
}

void Reporter::warn(std::string field, const Json& value, std::string why) {
  notes_.push_back({.field = std::move(field), .from = value, .to = value, .why = std::move(why)});
}

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const auto part :
       {shape_rules(), world_rules(), draft_rules(), speculative_rules(), other_rules(), context_rules(),
        expert_rules(), pipeline_rules(), kernel_rules(), contract_rules(), run_rules(), later_rules()}) {
    for (const Rule& rule : part) rules.push_back(&rule);
  }
  return rules;
}

const Rule* find_rule(std::string_view id) {
  const std::vector<const Rule*> rules = all_rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule* rule) { return rule->id == id; });
  return found == rules.end() ? nullptr : *found;
}

void check_rules(const Question& question, std::vector<Problem>& problems, std::vector<Derivation>& notes) {
  Reporter reporter(question.engine, problems, notes);
  for (const Rule* rule : all_rules()) {
    if (rule->check == nullptr || !rule->engines.has(question.engine)) continue;
    reporter.rule_ = rule;
    rule->check(question, reporter);
  }
}

std::string divisors_remedy(std::int64_t count) {
  std::string list;
  for (std::int64_t d = 1; d <= count && d <= 64; ++d) {
    if (count % d == 0) list += (list.empty() ? "" : ", ") + text(d);
  }
  return "choose a divisor: " + list;
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string list = "[";
  for (const std::int64_t number : numbers) list += (list.size() > 1 ? "," : "") + text(number);
  return list + "]";
}

std::string join(const std::vector<std::int64_t>& numbers, std::size_t limit) {
  std::string list;
  for (std::size_t i = 0; i < std::min(limit, numbers.size()); ++i)
    list += (i > 0 ? ", " : "") + text(numbers[i]);
  if (numbers.size() > limit)
    list += ", ... (" + text(static_cast<std::int64_t>(numbers.size())) + " in all)";
  return list;
}

}  // namespace outrider::plan
