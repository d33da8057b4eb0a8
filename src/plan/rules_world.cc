// A: context, stages and devices; P5, LEN.
#include <algorithm>

#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

void check_a5(const Question& q, Reporter& out) {
  const std::int64_t tp = q.target.tensor_parallel_size, dcp = q.target.decode_context_parallel_size;
  if (!sane(tp) || !sane(dcp) || q.target.prefill_context_parallel_size != 1 || tp % dcp == 0) return;
  out.refuse("target.decode_context_parallel_size", text(dcp),
             "target: tp=" + text(tp) + " must be divisible by dcp=" + text(dcp), divisors_remedy(tp));
}

void check_a6(const Question& q, Reporter& out) {
  const std::int64_t pcp = q.target.prefill_context_parallel_size, tp = q.target.tensor_parallel_size,
                     dcp = q.target.decode_context_parallel_size;
  if (!sane(pcp) || pcp == 1) return;
  if (!q.is(Engine::Vllm)) {
    out.refuse("target.prefill_context_parallel_size", text(pcp),
               "target: prefill context parallelism is not in this engine (got " + text(pcp) + ")",
               "use tensor or pipeline parallelism; --as vllm judges it by vLLM's rules");
    return;
  }
  if (!sane(tp) || !sane(dcp) || dcp == 1 || dcp == pcp || dcp == tp * pcp) return;
  out.refuse("target.decode_context_parallel_size", text(dcp),
             "target: with pcp=" + text(pcp) + " dcp must be off, span the pcp axis, or span tp x pcp; got " +
                 text(dcp),
             "valid: 1, " + text(pcp) + ", " + text(tp * pcp));
}

void check_a7(const Question& q, Reporter& out) {
  const std::int64_t pcp = q.target.prefill_context_parallel_size, dp = q.target.data_parallel_size;
  if (pcp <= 1 || dp <= 1) return;
  out.refuse("target.prefill_context_parallel_size", text(pcp),
             "target: prefill context parallelism does not go with data parallelism (data_parallel_size=" +
                 text(dp) + ")",
             "set one of them to 1");
}

void check_a8(const Question& q, Reporter& out) {
  if (q.target.decode_context_parallel_size > 1 || q.intent.target.dcp_comm_backend != "a2a") return;
  out.refuse("target.dcp_comm_backend", "a2a",
             "target: dcp_comm_backend=a2a requires decode_context_parallel_size > 1, got " +
                 text(q.target.decode_context_parallel_size),
             "leave the backend out, or shard the context");
}

void check_a9(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t block = role.settings.kv_block_size,
                       interleave = role.settings.cp_kv_cache_interleave_size;
    if (role.name == "draft" && interleave == q.target.cp_kv_cache_interleave_size)
      return;  // the target's fault, told once
    if (role.settings.decode_context_parallel_size <= 1 || block < 1 || interleave < 1) return;
    if (interleave <= block && block % interleave == 0) return;
    out.refuse(role.field("block_size"), text(block),
               role.says("block_size=" + text(block) +
                         " must be a multiple of cp_kv_cache_interleave_size=" + text(interleave)),
               "choose an interleave that divides the block");
  });
}

void check_a10(const Question& q, Reporter& out) {
  const auto& name = q.intent.target.cp_kv_cache_interleave_size;
  const auto& old = q.intent.target.dcp_kv_cache_interleave_size;
  if (!name || !old || *name == *old) return;
  out.refuse("target.cp_kv_cache_interleave_size", text(*name),
             "target: cp_kv_cache_interleave_size=" + text(*name) +
                 " and its old name dcp_kv_cache_interleave_size=" + text(*old) + " disagree",
             "set only cp_kv_cache_interleave_size");
}

void check_a11(const Question& q, Reporter& out) {
  const std::int64_t pp = q.target.pipeline_parallel_size, layers = q.model().layer_count;
  if (!sane(pp)) return;
  if (layers < pp) {
    out.refuse("target.pipeline_parallel_size", text(pp),
               "target: " + text(pp) + " pipeline stages, but the model has " + text(layers) + " layers",
               "use fewer stages");
  }
  if (!q.intent.pp_layer_partition) return;
  const std::string shown = q.intent.pp_layer_partition->substr(0, 120);
  const auto parts = parse_partition(*q.intent.pp_layer_partition);
  const auto refuse = [&](const std::string& message, const std::string& remedy) {
    out.refuse("target.pp_layer_partition", shown, "target: PP partition {" + shown + "} " + message, remedy);
  };
  if (!parts) return refuse("is no list of layer counts", "write it as 20,20,21");
  if (static_cast<std::int64_t>(parts->size()) != pp) {
    refuse("has " + text(static_cast<std::int64_t>(parts->size())) + " parts for " + text(pp) + " stages",
           "one count for each stage");
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : *parts) sum += part;
  if (sum != layers)
    refuse("sums to " + text(sum) + ", the model has " + text(layers) + " layers",
           "the counts must sum to " + text(layers));
  if (std::find(parts->begin(), parts->end(), 0) != parts->end())
    refuse("leaves a stage without layers", "every stage needs one");
}

void check_a12(const Question& q, Reporter& out) {
  const std::int64_t sizes[] = {q.target.tensor_parallel_size, q.target.pipeline_parallel_size,
                                q.target.data_parallel_size, q.target.prefill_context_parallel_size};
  std::int64_t world = 1;
  for (const std::int64_t size : sizes) {
    if (!sane(size)) return;
    world = world > kSizeMax ? world : world * size;
  }
  constexpr std::int64_t kRanksMax = 2048;  // each rank's groups are in the plan
  if (world > kRanksMax) {
    out.refuse("target.world_size", text(world),
               "target: needs " + text(world) + " devices, more than " + text(kRanksMax) + " are not planned",
               "shrink tensor, pipeline or data parallelism");
    return;
  }
  if (!q.machine.devices_per_node) return;
  const std::int64_t nodes = q.machine.nodes.value_or(q.intent.target.nnodes.value_or(1));
  const std::int64_t each = *q.machine.devices_per_node,
                     devices = each < 1 ? 0 : size_of(nodes) * size_of(each);
  if (world <= devices) return;
  out.refuse("target.world_size", text(world),
             "target: needs " + text(world) + " devices, " + text(devices) + " visible on " + text(nodes) +
                 " node(s)",
             devices == 0 ? "make devices visible"
                          : "shrink tensor, pipeline or data parallelism to a product of " + text(devices));
}

void check_p5(const Question& q, Reporter& out) {
  const std::int64_t local = q.target.data_parallel_size_local, all = q.target.data_parallel_size;
  if (local <= all || !sane(all)) return;
  out.refuse(
      "target.data_parallel_size_local", text(local),
      "target: data_parallel_size_local=" + text(local) + " must be <= data_parallel_size=" + text(all),
      "raise the one or lower the other");
}

void check_len(const Question& q, Reporter& out) {
  const auto& asked = q.intent.target.max_model_len;
  const auto& positions = q.model().positions_max;
  if (!asked || !positions || *asked <= *positions) return;
  const std::string message =
      "target: max_model_len=" + text(*asked) + " exceeds the model's " + text(*positions) + " positions";
  if (q.is(Engine::Vllm) && q.intent.allow_long_max_model_len) {
    out.warn("target.max_model_len", Json(*asked), message + ", and VLLM_ALLOW_LONG_MAX_MODEL_LEN lets it");
    return;
  }
  std::string remedy = "ask for at most " + text(*positions);
  for (const StrayOverride& stray : q.facts.stray_overrides) {  // tried, and written where nothing reads it
    if (stray.key == "max_position_embeddings") remedy = stray.remedy;
  }
  out.refuse("target.max_model_len", text(*asked), message, remedy);
}

constexpr Rule kRules[] = {
    {.id = "A5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the tensor size is not divisible by the context size",
     .reason = "Context shards reuse the tensor ranks, in groups of equal size. For a drafter see C3.",
     .vllm = "tp_size must be divisible by dcp_size",
     .check = check_a5},
    {.id = "A6",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "prefill context parallelism with a context size that fits neither axis; under our own "
                  "rules, at all",
     .reason = "Outrider has no prefill context parallelism; vLLM lets the context span the prefill axis or "
               "all of tensor x prefill.",
     .vllm = "When PCP is enabled, DCP must be disabled, span the PCP axis, or span the full TP x PCP axis",
     .check = check_a6},
    {.id = "A7",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "prefill context with data parallelism",
     .reason = "vLLM does not support the two together.",
     .vllm = "PCP does not support data parallelism yet",
     .check = check_a7},
    {.id = "A8",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "dcp_comm_backend=a2a without context shards",
     .reason = "There is nothing to exchange. Only an explicit value is refused: a drafter whose shards "
               "collapse gets ag_rs.",
     .vllm = "dcp_comm_backend='a2a' requires decode_context_parallel_size > 1",
     .check = check_a8},
    {.id = "A9",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a cache block is no multiple of the interleave",
     .reason = "A run of tokens on one rank must not cross a block.",
     .vllm = "Block_size should be greater than or equal to and divisible by cp_kv_cache_interleave_size",
     .check = check_a9},
    {.id = "A10",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "both names of the interleave, with different values",
     .reason = "Readers of the old name and of the new one would disagree about who owns a token.",
     .check = check_a10},
    {.id = "A11",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "more stages than layers, or a partition that does not fit them",
     .reason = "Every stage needs a layer, and every layer a stage.",
     .check = check_a11},
    {.id = "A12",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "more ranks than devices, where devices are known",
     .reason = "One rank needs one device.",
     .vllm = "World size is larger than the number of available GPUs in this node",
     .check = check_a12},
    {.id = "A13",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a drafter's rank is none of the target's",
     .reason = "Upheld by derivation: the drafter's ranks are taken from the target's last stage."},
    {.id = "P5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "more local copies than copies",
     .reason = "A node runs some of all data-parallel copies.",
     .vllm = "data_parallel_size_local must be <= data_parallel_size",
     .check = check_p5},
    {.id = "LEN",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "max_model_len exceeds the model's positions",
     .reason = "The rotary table ends there, and what a model says beyond its trained positions is noise. "
               "For a drafter see B11.",
     .check = check_len},
};

}  // namespace

std::span<const Rule> world_rules() { return kRules; }

}  // namespace outrider::plan
