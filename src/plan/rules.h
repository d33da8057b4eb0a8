// The rules: every reason to refuse, each a small function with an id, judged independently of all others: no
// rule assumes that another one held. docs/refusals.md is printed from this table. What a rule cannot judge
// from plain values stands in the table too, with where it is upheld instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_write.h"
#include "plan/question.h"

namespace outrider::plan {

// What a rule writes to. Prefixes and references are added here.
class Reporter {
 public:
  Reporter(Engine engine, std::vector<Problem>& problems, std::vector<Derivation>& notes)
      : engine_(engine), problems_(problems), notes_(notes) {}

  // `message` begins with "target: " or "draft: ".
  void refuse(std::string field, std::string value, std::string message, std::string remedy);
  // The same where the rule's reference is not about this case.
  void refuse_plainly(std::string field, std::string value, std::string message, std::string remedy);
  // Worth knowing, and no reason to refuse.
  void warn(std::string field, const Json& value, std::string why);

 private:
  friend void check_rules(const Question&, std::vector<Problem>&, std::vector<Derivation>&);
  Engine engine_;
  const struct Rule* rule_ = nullptr;
  std::vector<Problem>& problems_;
  std::vector<Derivation>& notes_;
};

enum class Verdict { Refuse, Derive, Warn, ElseWhere };

struct Rule {
  std::string_view id;
  Engines engines;
  Verdict verdict;
  std::string_view condition;  // in words
  std::string_view reason;
  std::string_view vllm = "";    // error and public number under vLLM's rules
  std::string_view trtllm = "";  // the same of TensorRT-LLM
  void (*check)(const Question&,
                Reporter&) = nullptr;  // null: upheld by derivation, by construction or while running
};

std::span<const Rule> shape_rules();        // A1 to A4
std::span<const Rule> world_rules();        // A, P5, LEN
std::span<const Rule> draft_rules();        // B
std::span<const Rule> speculative_rules();  // S
std::span<const Rule> other_rules();        // P, X
std::span<const Rule> context_rules();      // C
std::span<const Rule> expert_rules();       // D, X2
std::span<const Rule> pipeline_rules();     // E, F, I
std::span<const Rule> kernel_rules();       // G, X8
std::span<const Rule> contract_rules();     // H
std::span<const Rule> run_rules();          // R, MEM
std::span<const Rule> later_rules();        // J, K, and reading: CLI, JSON, YAML
std::vector<const Rule*> all_rules();
const Rule* find_rule(std::string_view id);

// Every rule of the engine, in the table's order.
void check_rules(const Question& question, std::vector<Problem>& problems, std::vector<Derivation>& notes);

// The table as docs/refusals.md, and one rule as `--explain` prints it.
std::string refusals_document();
std::string explain_rule(const Rule& rule);
// The same as an object: {"rule":"","verdict":"","engines":[],"when":"","why":"","vllm":"","trtllm":""}.
void write_rule(base::JsonWriter& writer, const Rule& rule);

// --- for the rules themselves ---
struct RoleCase {
  std::string_view name;  // "target", "draft"
  const RoleSettings& settings;
  const checkpoint::ModelFacts& model;
  const checkpoint::MoeFacts* moe;
  const std::vector<checkpoint::KvGroup>& kv;
  const checkpoint::Facts& facts;  // whose tensors
  bool drafter_tensors;            // those of the drafter inside
  std::string field(std::string_view setting) const { return std::string(name) + "." + std::string(setting); }
  std::string says(std::string_view text) const { return std::string(name) + ": " + std::string(text); }
};
template <class Visit>
void for_roles(const Question& question, Visit&& visit) {
  const checkpoint::Facts& target = question.facts.target;
  visit(RoleCase{.name = "target",
                 .settings = question.target,
                 .model = target.model,
                 .moe = target.model.moe ? &*target.model.moe : nullptr,
                 .kv = target.model.kv,
                 .facts = target,
                 .drafter_tensors = false});
  if (!question.draft) return;
  const DraftView& view = *question.view;
  const bool own_file = question.facts.draft.has_value() && !view.inside_target;
  visit(RoleCase{.name = "draft",
                 .settings = *question.draft,
                 .model = *view.model,
                 .moe = view.moe,
                 .kv = *view.kv,
                 .facts = own_file ? *question.facts.draft : target,
                 .drafter_tensors = view.inside_target || view.native_elsewhere});
}
inline std::string text(std::int64_t number) { return std::to_string(number); }
inline std::string text(int number) { return std::to_string(number); }
inline std::string text(bool flag) { return flag ? "true" : "false"; }
std::string divisors_remedy(std::int64_t count);                  // "choose a divisor: 1, 2, 4, 8"
std::string list_text(const std::vector<std::int64_t>& numbers);  // "[1,9,17]"
// "61, 62, 63", at most `limit`, then how many more.
std::string join(const std::vector<std::int64_t>& numbers, std::size_t limit = 16);

}  // namespace outrider::plan
