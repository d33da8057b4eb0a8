// A: sizes and what they must divide, per role; P5, LEN.
#include <algorithm>
#include <set>

#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using checkpoint::Cut;
using checkpoint::KvKind;

// Far above every use, and far below what a product of sizes cannot take.
std::int64_t most_of(std::string_view field) {
  if (field.ends_with("parallel_size") || field == "num_speculative_tokens" || field == "nnodes")
    return kSizeMax;
  return std::int64_t{1} << 31;
}

void in_bounds(const char* field, const std::optional<std::int64_t>& asked, const char* role, Reporter& out) {
  const std::string name = std::string(role) + "." + field;
  if (asked && *asked < 1) {
    out.refuse(name, text(*asked), std::string(role) + ": " + field + " must be >= 1, got " + text(*asked),
               "give 1 or more, or leave it out");
  } else if (asked && *asked > most_of(field)) {
    out.refuse(name, text(*asked),
               std::string(role) + ": " + field + " must be at most " + text(most_of(field)) + ", got " +
                   text(*asked));
  }
}

// Redundant experts may be none; more than this many are no placement that anybody runs.
void redundant_in_bounds(const std::optional<std::int64_t>& asked, const std::string& role, Reporter& out) {
  constexpr std::int64_t kRedundantMax = 65536;
  const std::string field = role + ".eplb_config.num_redundant_experts";
  if (asked && (*asked < 0 || *asked > kRedundantMax)) {
    out.refuse(field, text(*asked),
               role + ": num_redundant_experts must be 0.." + text(kRedundantMax) + ", got " + text(*asked));
  }
}

void check_a1(const Question& q, Reporter& out) {
  const AskedTarget& t = q.intent.target;
  const std::pair<const char*, const std::optional<std::int64_t>&> sizes[] = {
      {"tensor_parallel_size", t.tensor_parallel_size},
      {"pipeline_parallel_size", t.pipeline_parallel_size},
      {"data_parallel_size", t.data_parallel_size},
      {"data_parallel_size_local", t.data_parallel_size_local},
      {"prefill_context_parallel_size", t.prefill_context_parallel_size},
      {"decode_context_parallel_size", t.decode_context_parallel_size},
      {"cp_kv_cache_interleave_size", t.cp_kv_cache_interleave_size},
      {"dcp_kv_cache_interleave_size", t.dcp_kv_cache_interleave_size},
      {"block_size", t.block_size},
      {"max_model_len", t.max_model_len},
      {"max_num_seqs", t.max_num_seqs},
      {"max_num_batched_tokens", t.max_num_batched_tokens},
      {"nnodes", t.nnodes},
      {"num_threads", t.num_threads},
      {"eplb_config.window_size", q.intent.eplb.window_size},
      {"eplb_config.step_interval", q.intent.eplb.step_interval},
      {"eplb_config.log_balancedness_interval", q.intent.eplb.log_balancedness_interval},
  };
  for (const auto& [field, asked] : sizes) in_bounds(field, asked, "target", out);
  redundant_in_bounds(q.intent.eplb.num_redundant_experts, "target", out);
}

void check_a1_draft(const Question& q, Reporter& out) {
  if (!q.intent.draft) return;
  const AskedDraft& d = *q.intent.draft;
  const bool none = q.is(Engine::Outrider) && d.num_speculative_tokens == 0;  // drafting is off
  if (!none) in_bounds("num_speculative_tokens", d.num_speculative_tokens, "draft", out);
  const std::pair<const char*, const std::optional<std::int64_t>&> sizes[] = {
      {"tensor_parallel_size", d.draft_tensor_parallel_size},
      {"max_model_len", d.max_model_len},
      {"block_size", d.block_size},
      {"decode_context_parallel_size", d.decode_context_parallel_size},
      {"pipeline_parallel_size", d.pipeline_parallel_size},
      {"dspark_draft_topk", d.dspark_draft_topk},
  };
  for (const auto& [field, asked] : sizes) in_bounds(field, asked, "draft", out);
  if (!q.intent.eplb_draft) return;
  in_bounds("eplb_config.window_size", q.intent.eplb_draft->window_size, "draft", out);
  in_bounds("eplb_config.step_interval", q.intent.eplb_draft->step_interval, "draft", out);
  redundant_in_bounds(q.intent.eplb_draft->num_redundant_experts, "draft", out);
}

void check_a1_all(const Question& q, Reporter& out) {
  check_a1(q, out);
  check_a1_draft(q, out);
}

std::string divisors_remedy(std::int64_t count) {
  std::string list;
  for (std::int64_t d = 1; d <= count && d <= 64; ++d) {
    if (count % d == 0) list += (list.empty() ? "" : ", ") + text(d);
  }
  return "choose a divisor: " + list;
}

// Distinct unit counts of a role's tensors under one cut: heads of the kinds of attention that a hybrid has.
std::set<int> units_of(const RoleCase& role, Cut cut) {
  std::set<int> units;
  for (const auto& group : role.facts.tensors) {
    if (group.drafter == role.drafter_tensors && group.cut == cut && group.unit_count > 1)
      units.insert(group.unit_count);
  }
  return units;
}

void check_a2(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t tp = role.settings.tensor_parallel_size;
    if (!sane(tp)) return;
    const auto refuse = [&](std::int64_t count, const std::string& what) {
      out.refuse(role.field("tensor_parallel_size"), text(tp),
                 role.says(text(count) + " " + what + " not divisible by tp=" + text(tp)),
                 divisors_remedy(count));
    };
    if (role.model.heads % tp != 0) {
      refuse(role.model.heads, "attention heads");
      return;
    }
    for (const int units : units_of(role, Cut::QueryHeads)) {
      if (units % tp != 0) refuse(units, "heads of linear attention");
    }
    for (const int units : units_of(role, Cut::OutputGroups)) {
      if (units % tp != 0) refuse(units, "output groups");
    }
  });
}

void check_a3(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t tp = role.settings.tensor_parallel_size;
    if (!sane(tp)) return;
    std::set<int> counts = units_of(role, Cut::KvHeads);
    for (const auto& group : role.kv) {
      if (group.kind == KvKind::PerHead) counts.insert(group.kv_heads);
    }
    for (const int kv : counts) {
      if (kv < 1 || kv % tp == 0 || tp % kv == 0) continue;
      out.refuse(role.field("tensor_parallel_size"), text(tp),
                 role.says(text(kv) + " KV heads neither divide nor are divided by tp=" + text(tp)),
                 "choose a divisor or a multiple of " + text(kv));
    }
  });
}

void check_a4(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t tp = role.settings.tensor_parallel_size;
    if (!sane(tp)) return;
    for (const checkpoint::CutWidth& cut : role.model.widths) {
      const bool whole_experts = role.settings.enable_expert_parallel && cut.what == "expert";
      // A drafter inside the target's file shares its widths; the target's case reports them once.
      if (whole_experts || tp == 1 || (role.drafter_tensors && tp == q.target.tensor_parallel_size)) continue;
      if (cut.width % tp != 0) {
        out.refuse_plainly(
            role.field("tensor_parallel_size"), text(tp),
            role.says(cut.what + ": width " + text(cut.width) + " not divisible by tp=" + text(tp)),
            "choose a divisor of it");
      } else if (cut.block > 1 && cut.width / tp % cut.block != 0) {
        const std::string why = cut.what + ": per-rank width " + text(cut.width / tp) +
                                " not divisible by quant block " + text(cut.block) + " at tp=" + text(tp);
        const auto& quant = role.model.quantisation;
        if (quant && quant->method == "mxfp4") {
          out.warn(role.field("tensor_parallel_size"), Json(tp),
                   role.says(why + "; the share is padded to whole blocks"));
        } else {
          out.refuse(role.field("tensor_parallel_size"), text(tp), role.says(why),
                     "choose a smaller tensor_parallel_size");
        }
      }
    }
  });
}

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
    out.refuse(
        "target.world_size", text(world),
        "target: needs " + text(world) + " devices, more than " + text(kRanksMax) + " are not planned");
    return;
  }
  if (!q.machine.devices_per_node) return;
  const std::int64_t nodes = q.machine.nodes.value_or(q.intent.target.nnodes.value_or(1));
  const std::int64_t devices = size_of(nodes) * size_of(*q.machine.devices_per_node);
  if (world <= devices) return;
  out.refuse("target.world_size", text(world),
             "target: needs " + text(world) + " devices, " + text(devices) + " visible on " + text(nodes) +
                 " node(s)",
             "shrink tensor, pipeline or data parallelism to a product of " + text(devices));
}

void check_p5(const Question& q, Reporter& out) {
  const std::int64_t local = q.target.data_parallel_size_local, all = q.target.data_parallel_size;
  if (local <= all || !sane(all)) return;
  out.refuse(
      "target.data_parallel_size_local", text(local),
      "target: data_parallel_size_local=" + text(local) + " must be <= data_parallel_size=" + text(all),
      "raise the one or lower the other");
}

void check_p6(const Question& q, Reporter& out) {
  if (!q.intent.target.data_parallel_external_lb.value_or(false) || q.target.data_parallel_size > 1) return;
  out.refuse("target.data_parallel_external_lb", "true",
             "target: data_parallel_external_lb requires data_parallel_size > 1, got " +
                 text(q.target.data_parallel_size),
             "leave it out");
}

void check_len(const Question& q, Reporter& out) {
  const auto& asked = q.intent.target.max_model_len;
  const auto& positions = q.model().positions_max;
  if (!asked || !positions || *asked <= *positions) return;
  out.refuse(
      "target.max_model_len", text(*asked),
      "target: max_model_len=" + text(*asked) + " exceeds the model's " + text(*positions) + " positions",
      "ask for at most " + text(*positions));
}

constexpr Rule kRules[] = {
    {.id = "A1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a size is below 1",
     .reason = "Every size divides or multiplies something; no later rule may divide by zero.",
     .vllm = "pydantic range error (vllm#44057, vllm#51469)",
     .check = check_a1_all},
    {.id = "A2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "heads are not divisible by the tensor size",
     .reason = "A rank holds whole heads. Judged per role, on its own model and its own size.",
     .vllm = "Total number of attention heads must be divisible by tensor parallel size",
     .check = check_a2},
    {.id = "A3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "key-value heads neither divide nor are divided by the tensor size",
     .reason = "Key-value heads are split over ranks, or each is held by the same number of ranks.",
     .check = check_a3},
    {.id = "A4",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition =
         "a width is not divisible by the tensor size, or a share is no multiple of the quantisation block",
     .reason = "A block scale covers whole blocks; half a block has no scale. gpt-oss in MXFP4 is padded: a "
               "note, not a refusal.",
     .vllm = "is not divisible by weight quantization block_k (vllm#45784)",
     .check = check_a4},
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
    {.id = "P6",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "external load balancing of one copy",
     .reason = "There is nothing to balance.",
     .vllm = "data_parallel_external_lb can only be set when data_parallel_size > 1",
     .check = check_p6},
    {.id = "LEN",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "max_model_len exceeds the model's positions",
     .reason = "The rotary table ends there, and what a model says beyond its trained positions is noise. "
               "For a drafter see B11.",
     .check = check_len},
};

}  // namespace

std::span<const Rule> shape_rules() { return kRules; }

}  // namespace outrider::plan
