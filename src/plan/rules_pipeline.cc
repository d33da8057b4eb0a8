// E: stages and speculation; F: loaders; I: data-parallel lock-step.
#include <algorithm>
#include <set>

#include "plan/derive.h"
#include "plan/rules.h"
#include "plan/rules_engines.h"

namespace outrider::plan {
namespace {

void check_e2(const Question& q, Reporter& out) {
  if (!q.view || !q.view->drafter->taps || q.view->drafter->taps->empty()) return;
  const checkpoint::DrafterFacts& drafter = *q.view->drafter;
  const std::vector<int>& taps = *drafter.taps;
  const std::vector<int>& written = drafter.taps_as_written.empty() ? taps : drafter.taps_as_written;
  const std::string field =
      "draft.config." + (drafter.taps_key.empty() ? std::string("target_layer_ids") : drafter.taps_key);
  const std::string shown = list_text({written.begin(), written.end()});
  const std::int64_t layers = q.model().layer_count;
  std::vector<std::int64_t> outside, twice;
  std::set<int> seen;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const std::int64_t as_written = i < written.size() ? written[i] : taps[i];
    if (taps[i] < -1 || taps[i] >= layers) outside.push_back(as_written);
    if (!seen.insert(taps[i]).second) twice.push_back(as_written);
  }
  const auto refuse = [&](const std::string& why) {
    out.refuse(field, shown, "draft: tap " + why, "use the drafter of this target");
  };
  if (!outside.empty())
    refuse(join(outside) + " is not a layer of the target, which has " + text(layers) + " layers: 0.." +
           text(layers - 1));
  if (!twice.empty()) refuse(join(twice) + " is listed twice");
  if (twice.empty() && !std::is_sorted(taps.begin(), taps.end()))
    refuse("layers are not in ascending order: " + shown);
}

void check_e7(const Question& q, Reporter& out) {
  if (q.target.pipeline_parallel_size <= 1 || !q.intent.draft ||
      !q.intent.draft->enable_adaptive_verification.value_or(false))
    return;
  out.refuse("draft.enable_adaptive_verification", "true",
             "draft: adaptive verification does not go with pipeline parallelism (pipeline_parallel_size=" +
                 text(q.target.pipeline_parallel_size) + ")",
             "leave it out");
}

void check_f1(const Question& q, Reporter& out) {
  if (!q.draft || q.is(Engine::Outrider)) return;  // ours enters over exactly the role's ranks
  const std::int64_t stages = q.target.pipeline_parallel_size;
  if (!sane(stages) || stages == 1 || asked_draft_loader(q.intent)) return;
  const std::string& format = q.draft->load_format;
  const auto& extra = q.intent.target.model_loader_extra_config;
  const Json* distributed = extra ? extra->find("distributed") : nullptr;
  const bool streams = format == "runai_streamer" && distributed != nullptr &&
                       distributed->boolean() != nullptr && *distributed->boolean();
  if (format != "instanttensor" && !streams) return;
  const ParallelShape shape = shape_of(q.target);
  out.refuse("draft.load_format", format,
             "draft: loader " + format + " is collective over " + text(shape.world()) +
                 " ranks but the draft lives on " + text(shape.expert_ranks()),
             "give the drafter a loader of its own: \"draft_load_config\":{\"load_format\":\"auto\"}");
}

void check_f3(const Question& q, Reporter& out) {
  const auto asked = asked_draft_loader(q.intent);
  if (!asked || !q.draft) return;
  const ParallelShape shape = shape_of(q.target);
  if (!q.is(Engine::Outrider) && sane(q.target.pipeline_parallel_size) && shape.pp > 1 &&
      is_collective_loader(*asked)) {
    out.refuse("draft.load_format", *asked,
               "draft: loader " + *asked + " is collective over " + text(shape.world()) +
                   " ranks but the draft lives on " + text(shape.expert_ranks()),
               "use a loader without a group: auto");
  }
}

void check_f4(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const bool drafter = role.name == "draft";
    const auto& cut_for =
        drafter && !q.view->inside_target ? q.facts.draft_sharded_for : q.facts.target_sharded_for;
    const std::int64_t tp = role.settings.tensor_parallel_size;
    if (role.settings.load_format != "sharded_state" || !cut_for || *cut_for == tp) return;
    out.refuse(role.field("tensor_parallel_size"), text(tp),
               role.says("checkpoint sharded for tp=" + text(*cut_for) + ", running tp=" + text(tp)),
               "run it with tensor_parallel_size=" + text(*cut_for) + ", or shard it anew");
  });
}

void check_f5(const Question& q, Reporter& out) {
  const auto asked = asked_draft_loader(q.intent);
  if (!asked || !q.view || q.view->inside_target) return;
  if ((*asked != "tensorizer" && *asked != "sharded_state") || *asked != q.target.load_format) return;
  if (q.intent.draft->draft_load_config->find("model_loader_extra_config") != nullptr) return;
  out.refuse("draft.load_format", *asked, "draft: loader config points to the target's archive",
             "give the drafter's own model_loader_extra_config");
}

void check_i1(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->num_speculative_tokens_per_batch_size ||
      q.target.data_parallel_size <= 1)
    return;
  out.refuse("draft.num_speculative_tokens_per_batch_size",
             q.intent.draft->num_speculative_tokens_per_batch_size->excerpt(),
             "draft: a draft count that depends on the batch lets data-parallel ranks choose different "
             "counts (data_parallel_size=" +
                 text(q.target.data_parallel_size) + ")",
             "give one num_speculative_tokens");
}

constexpr Rule kRules[] = {
    {.id = "E1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "stages and a target that cannot relay taps over them",
     .reason =
         "Every family of Outrider relays taps in the order of layers. vLLM's classes opt in, and of some it "
         "is not known here: a note. TensorRT-LLM drafts on one stage only.",
     .vllm =
         "vllm#50514: with pipeline parallel is not supported: it does not forward auxiliary hidden states",
     .trtllm = "TensorRT-LLM#9009: Drafting is not supported for selected executor loop",
     .check = check_e1},
    {.id = "E2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a tap outside the target's layers, twice, or out of order",
     .reason = "A drafter of another target, or a numbering that is off by one.",
     .vllm = "target_layer_ids must be unique, increasing and in range",
     .check = check_e2},
    {.id = "E3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "two spellings of the taps that disagree",
     .reason =
         "Readers of the one and of the other would tap different layers. Told while reading the config.",
     .vllm = "vllm#53577"},
    {.id = "E4",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter borrows the target's embedding, and it is on another stage",
     .reason = "The plan says on which stage the embedding is loaded once more (vllm#46994: else it is "
               "random, in silence)."},
    {.id = "E5",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "the same for head and norm",
     .reason = "By construction: they are on the last stage, where the drafter is."},
    {.id = "E6",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "feedback messages of varying width",
     .reason = "By construction: k+1 tokens and counts, every step."},
    {.id = "E7",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "adaptive verification with pipeline stages",
     .reason = "vLLM's runner does not send the cut to other stages.",
     .vllm = "Model Runner V2 does not yet support: adaptive verification with PP > 1",
     .check = check_e7},
    {.id = "E8",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "recurrent layers on stages that do not learn the accepted count",
     .reason = "By construction: the accepted count is part of every step (vllm#44697)."},
    {.id = "F1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a collective loader over more ranks than hold the drafter",
     .reason = "The ranks that never load a drafter never enter, and the others wait. Outrider's collective "
               "loader enters over exactly the role's ranks; one stage is no fault anywhere.",
     .vllm = "vllm#50959: WorkNCCL BROADCAST watchdog after 600 s",
     .check = check_f1},
    {.id = "F2",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter's loader is not given, and fastsafetensors would fail as in F1",
     .reason = "auto is taken (vllm#54416)."},
    {.id = "F3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "an explicit collective loader of the drafter that would fail as in F1",
     .reason = "An explicit value is not replaced.",
     .vllm = "vllm#55337, vllm#50959",
     .check = check_f3},
    {.id = "F4",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "a checkpoint sharded for another tensor size",
     .reason =
         "Its files are named by rank: model-rank-0-part-0.safetensors. Outrider cuts whole files itself.",
     .vllm = "Could not find checkpoint files, only pre-sharded checkpoints are currently supported",
     .check = check_f4},
    {.id = "F5",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "the drafter's loader points to the target's archive",
     .reason = "The target's archive does not hold it. Not given, auto is derived.",
     .vllm = "vllm#12725",
     .check = check_f5},
    {.id = "F6",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "members of a group read other headers",
     .reason = "While loading, before the first payload."},
    {.id = "F7",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "parameters that were never loaded",
     .reason = "While loading: every tensor that a shape needs is there, or the checkpoint is refused with "
               "their names."},
    {.id = "F8",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a safetensors header that breaks a rule",
     .reason = "While opening files."},
    {.id = "I1",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "a draft count by batch size, with data parallelism",
     .reason = "Ranks could choose different counts and wait for each other.",
     .vllm = "DP divergence and deadlocks",
     .check = check_i1},
    {.id = "I2",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a drafter that some ranks skip",
     .reason = "By construction: who drafts is part of the step that all ranks receive (vllm#44185)."},
    {.id = "I3",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "idle ranks with another shape of step",
     .reason =
         "By construction: every rank runs the one step that it receives, with or without rows of its own."},
    {.id = "I4",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "prefill and decode instances that speculate differently",
     .reason = "At their handshake (TensorRT-LLM#17095)."},
    {.id = "I5",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "verification that differs by rank",
     .reason = "By construction: one rank decides and tells."},
    {.id = "I6",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "idle ranks that veto speculation",
     .reason = "By construction: the count is chosen by rows that exist, once for all ranks."},
};

}  // namespace

std::span<const Rule> pipeline_rules() { return kRules; }

}  // namespace outrider::plan
