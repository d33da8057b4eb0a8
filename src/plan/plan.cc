#include "plan/plan.h"

#include <algorithm>

#include "plan/derive.h"
#include "plan/layout.h"
#include "plan/memory.h"
#include "plan/print_json.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

Plan derive_plan(Question question) {
  Plan plan;
  plan.engine = question.engine;
  plan.target = {.settings = question.target, .layout = derive_target_layout(question)};
  if (question.drafting) {
    plan.draft = DraftPlan{.draft = *question.drafting, .role = std::nullopt};
    if (question.draft)
      plan.draft->role = RolePlan{.settings = *question.draft, .layout = derive_draft_layout(question)};
  }
  plan.ranks = derive_ranks(question, plan.target.layout);
  if (const auto need = derive_memory(question)) {
    for (RankPlan& rank : plan.ranks)
      rank.bytes.resident = static_cast<std::int64_t>(std::min(need->total(), 9e18));
  }
  plan.bytes = derive_bytes(question, plan.ranks);
  plan.derivations = std::move(question.derivations);
  if (plan.draft && plan.draft->role) {
    const auto& layout = plan.draft->role->layout;
    const auto& positions = question.view->model->positions_max;
    if (positions && layout.max_position_embeddings && *layout.max_position_embeddings > *positions) {
      plan.derivations.push_back({.field = "draft.max_position_embeddings",
                                  .from = Json(*positions),
                                  .to = Json(*layout.max_position_embeddings),
                                  .why = "the rotary table is made as long as the target runs (vllm#48894)"});
    }
  }
  plan.fingerprint = base::fingerprint_of(canonical_text(plan));
  return plan;
}

// Of a format that is known by name only, tensors are counted as if they were plain.
void note_unknown_sizes(const Question& question, std::vector<Derivation>& notes) {
  const auto note = [&](const char* role, const checkpoint::ModelFacts& model) {
    if (model.packed_bits) {
      notes.push_back({.field = std::string(role) + ".quantization",
                       .from = Json(),
                       .to = Json(),
                       .why = std::string(role) +
                              ": packed weights: bytes are those of the weights they were "
                              "made of, resident is what the packed form takes"});
    }
    if (!model.quantisation || model.quantisation->sizes_known) return;
    const Json method(model.quantisation->method);
    notes.push_back({.field = std::string(role) + ".quantization",
                     .from = method,
                     .to = method,
                     .why = std::string(role) + ": sizes of this format are not known for this family: bytes "
                                                "are those of unquantised weights, more than it will take"});
  };
  const auto& asked = question.intent.target.quantization;
  if (asked && !question.facts.target.model.quantisation) {
    notes.push_back({.field = "target.quantization",
                     .from = Json(*asked),
                     .to = Json(*asked),
                     .why = "target: quantised while loading: bytes are those of the file"});
  }
  note("target", question.facts.target.model);
  if (question.draft && question.facts.draft) note("draft", question.facts.draft->model);
}

// Under our own rules a count of 0 means that nothing is drafted: all draft rules are silent.
Intent without_idle_drafter(Intent intent, std::vector<Derivation>& notes) {
  if (intent.engine == Engine::Outrider && intent.draft && intent.draft->num_speculative_tokens == 0) {
    const auto& drawing = intent.draft->rejection_sample_method;  // plain steps draw the same way
    if (!intent.target.rejection_sample_method && drawing && *drawing != "synthetic")
      intent.target.rejection_sample_method = drawing;
    intent.draft.reset();
    intent.eplb_draft.reset();
    notes.push_back({.field = "draft.num_speculative_tokens",
                     .from = Json(std::int64_t{0}),
                     .to = Json(std::int64_t{0}),
                     .why = "draft: no drafts are asked for, so no drafter is planned"});
  }
  return intent;
}

}  // namespace

base::Result<Plan, PlanRefusal> plan(const Intent& asked, const ModelsFacts& facts, const Machine& machine) {
  std::vector<Derivation> notes;
  const Intent intent = without_idle_drafter(asked, notes);
  Question question = derive_question(intent, facts, machine);
  std::vector<Problem> problems;
  check_rules(question, problems, notes);
  if (!problems.empty()) return PlanRefusal{std::move(problems)};
  note_unknown_sizes(question, notes);
  for (Derivation& note : notes) question.derivations.push_back(std::move(note));
  return derive_plan(std::move(question));
}

}  // namespace outrider::plan
