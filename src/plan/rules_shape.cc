// A: sizes and what they must divide, per role.
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
                   text(*asked),
               "give a smaller number");
  }
}

// Redundant experts may be none; more than this many are no placement that anybody runs.
void redundant_in_bounds(const std::optional<std::int64_t>& asked, const std::string& role, Reporter& out) {
  constexpr std::int64_t kRedundantMax = 65536;
  const std::string field = role + ".eplb_config.num_redundant_experts";
  if (asked && (*asked < 0 || *asked > kRedundantMax)) {
    out.refuse(field, text(*asked),
               role + ": num_redundant_experts must be 0.." + text(kRedundantMax) + ", got " + text(*asked),
               "give a number in that range, or leave it out");
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
      {"prompt_lookup_min", d.prompt_lookup_min},
      {"prompt_lookup_max", d.prompt_lookup_max},
      {"suffix_decoding_max_tree_depth", d.suffix_decoding_max_tree_depth},
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
      const bool shared = role.drafter_tensors && q.view && !q.view->native_elsewhere;
      if (whole_experts || tp == 1 || (shared && tp == q.target.tensor_parallel_size)) continue;
      if (!even_share(cut.width, tp)) {
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
};

}  // namespace

std::span<const Rule> shape_rules() { return kRules; }

}  // namespace outrider::plan
