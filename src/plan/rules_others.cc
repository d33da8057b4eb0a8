// Rules of vLLM's own, from the numbered lists of its configuration classes: P and X. Some are judged while
// the command line is read (flag_pairs.h), for flags that have no part in a plan.
#include <algorithm>
#include <array>

#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

void check_p6(const Question& q, Reporter& out) {
  if (!q.intent.target.data_parallel_external_lb.value_or(false) || q.target.data_parallel_size > 1) return;
  out.refuse("target.data_parallel_external_lb", "true",
             "target: data_parallel_external_lb requires data_parallel_size > 1, got " +
                 text(q.target.data_parallel_size),
             "leave it out");
}

void check_p20(const Question& q, Reporter& out) {
  const std::int64_t copies = q.target.data_parallel_size;
  if (!q.intent.copies_from_environment || copies <= 1 || q.model().moe) return;
  out.refuse("target.data_parallel_size", text(copies),
             "target: VLLM_DP_SIZE=" + text(copies) + " is for models with experts, and this one is dense",
             "give --data-parallel-size instead, or leave the variable out");
}

void check_x9(const Question& q, Reporter& out) {
  const RoleSettings& t = q.target;
  if (t.prefill_context_parallel_size > 1) {
    const std::string pcp = text(t.prefill_context_parallel_size);
    if (!keeps_latent_rows(q.model().kv)) {
      out.refuse("target.prefill_context_parallel_size", pcp,
                 "target: prefill context parallelism is for MLA models only", "set it to 1");
    }
    if (t.pipeline_parallel_size > 1) {
      out.refuse("target.prefill_context_parallel_size", pcp,
                 "target: prefill context parallelism does not go with pipeline parallelism "
                 "(pipeline_parallel_size=" +
                     text(t.pipeline_parallel_size) + ")",
                 "set one of them to 1");
    }
  }
  // Only the newer runner drafts with DSpark, and it has not all that the older one has.
  if (q.method.kind != DraftMethod::DSpark) return;
  if (t.enable_dbo) {
    out.refuse("target.enable_dbo", "true",
               "target: the runner that drafts with DSpark has no dual batch overlap",
               "leave --enable-dbo out");
  }
  if (t.distributed_executor_backend == "external_launcher" && t.pipeline_parallel_size > 1) {
    out.refuse(
        "target.distributed_executor_backend", t.distributed_executor_backend,
        "target: the runner that drafts with DSpark has no pipeline parallelism with external_launcher",
        "use mp");
  }
  if (t.enforce_eager && q.intent.draft->enable_adaptive_verification.value_or(false)) {
    out.refuse("draft.enable_adaptive_verification", "true",
               "draft: adaptive verification needs captured graphs, and enforce_eager captures none",
               "leave --enforce-eager out");
  }
}

void check_dbo(const Question& q, Reporter& out) {
  const RoleSettings& t = q.target;
  constexpr std::array kOverlapping = {"deepep_low_latency", "deepep_high_throughput", "nixl_ep"};
  const bool fits =
      std::find(kOverlapping.begin(), kOverlapping.end(), t.all2all_backend) != kOverlapping.end();
  if (!t.enable_dbo || fits || q.method.kind == DraftMethod::DSpark) return;
  out.refuse(
      "target.all2all_backend", t.all2all_backend,
      "target: micro-batching needs all2all_backend deepep_low_latency, deepep_high_throughput or nixl_ep, "
      "got " +
          t.all2all_backend,
      "choose one of them, or leave --enable-dbo out");
}

void check_x9_all(const Question& q, Reporter& out) {
  check_x9(q, out);
  check_dbo(q, out);
}

void check_x12(const Question& q, Reporter& out) {
  if (q.intent.target.async_scheduling != true || !q.intent.draft) return;
  const bool serves =
      q.method.kind || q.method.name == "ngram_gpu" || q.method.name.empty() || !q.method.known;
  if (!serves) {
    out.refuse("target.async_scheduling", "true",
               "target: scheduling ahead does not go with drafts of method " + q.method.name,
               "leave --async-scheduling out");
  }
  if (q.intent.draft->disable_padded_drafter_batch.value_or(false)) {
    out.refuse("draft.disable_padded_drafter_batch", "true",
               "draft: a ragged drafter batch does not go with scheduling ahead (async_scheduling)",
               "leave one of them out");
  }
}

// Rows beyond one a request that drafting needs in a step.
std::int64_t drafting_slots(const Question& q) {
  const std::int64_t k = q.drafting ? q.drafting->num_speculative_tokens : 0;
  if (!q.method.kind || k < 1) return 0;
  const bool parallel = q.intent.draft->parallel_drafting.value_or(false);
  switch (*q.method.kind) {
    case DraftMethod::DFlash:
    case DraftMethod::Pard:
      return k;
    case DraftMethod::DSpark:
      return k - 1;
    case DraftMethod::DraftModel:
      return parallel ? k : 1;
    default:
      return parallel ? k - 1 : 0;
  }
}

void check_x13(const Question& q, Reporter& out) {
  const auto& rows = q.target.max_num_batched_tokens;
  const std::int64_t slots = q.intent.draft ? drafting_slots(q) : 0;
  if (!rows || *rows < 1 || slots == 0 || *rows > slots) return;
  out.refuse("target.max_num_batched_tokens", text(*rows),
             "target: max_num_batched_tokens=" + text(*rows) + " leaves no room for one token beside the " +
                 text(slots) + " rows of drafting",
             "raise it above " + text(slots) + ", or draft fewer tokens");
}

constexpr Rule kRules[] = {
    {.id = "P1",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "a number of a flag without a part in the plan is out of its range",
     .reason =
         "node_rank, ubatch_size, data_parallel_rpc_port. Told while reading the command line; sizes are A1.",
     .vllm = "pydantic range error (vllm#44057, vllm#51469)"},
    {.id = "P3",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "fault tolerance with several front ends, or balancing inside",
     .reason = "One front end sees all copies. Told while reading the command line.",
     .vllm = "Fault tolerance requires a single API server process"},
    {.id = "P6",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "external load balancing of one copy, or a way of balancing that lacks its rank or size",
     .reason = "There is nothing to balance, or nobody knows which copy this is.",
     .vllm = "data_parallel_external_lb can only be set when data_parallel_size > 1",
     .check = check_p6},
    {.id = "P19",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "a copy's rank beyond the number of copies",
     .reason = "Ranks count from 0. Told while reading the command line.",
     .vllm = "data_parallel_rank must be in the range"},
    {.id = "P20",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "copies of a dense model by the environment's VLLM_DP_SIZE",
     .reason = "Copies that somebody else starts meet in the expert layers only; a dense model has none.",
     .vllm = "Offline data parallel mode is not supported/useful for dense models",
     .check = check_p20},
    {.id = "P22",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "several nodes with a launcher that counts them itself, or a node's number beyond them",
     .reason = "Told while reading the command line.",
     .vllm = "nnodes > 1 can only be set when distributed executor backend is mp, uni or external_launcher"},
    {.id = "P24",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "profiling of Ray workers without Ray",
     .reason = "There are no such workers. Told while reading the command line.",
     .vllm = "Unable to use nsight profiling unless workers run with Ray"},
    {.id = "X9",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition =
         "prefill context parallelism without MLA, or with pipeline stages; DSpark with what only the older "
         "runner has; micro-batching over another exchange",
     .reason = "vLLM's newer runner has neither, and only it drafts with DSpark.",
     .vllm = "Model Runner V2 does not yet support",
     .check = check_x9_all},
    {.id = "X12",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "explicit scheduling ahead with drafts from text, or with a ragged drafter batch",
     .reason = "The next step is scheduled before such drafts exist. Not asked for, it is turned off.",
     .vllm = "Currently, async scheduling is only supported with EAGLE/MTP/Draft Model/NGram GPU/DSpark",
     .check = check_x12},
    {.id = "X13",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "a step too small for the rows of drafting",
     .reason = "Drafting takes rows of the step beside each request's own.",
     .vllm = "does not have enough slots to schedule a token and support the speculative decoding settings",
     .check = check_x13},
    {.id = "X14",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "fast prefill of shared caches with a drafter that reads hidden states",
     .reason = "The prompt's logits are not right then. Told while reading the command line.",
     .vllm = "Fast prefill optimization for KV sharing is not compatible with EAGLE"},
};

}  // namespace

std::span<const Rule> other_rules() { return kRules; }

}  // namespace outrider::plan
