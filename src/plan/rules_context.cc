// C: context shards, by role and by group of layers.
#include <algorithm>

#include "plan/derive.h"
#include "plan/rules.h"
#include "plan/rules_engines.h"

namespace outrider::plan {
namespace {

using checkpoint::KvGroup;
using checkpoint::KvKind;

// Rooms in which key-value heads are held by every rank of a context group. vLLM leaves the prefill axis out
// (vllm#55030, open).
std::int64_t ceiling_of(const Question& q, const RoleSettings& settings, std::int64_t kv_heads) {
  const std::int64_t pcp = q.is(Engine::Vllm) ? 1 : size_of(settings.prefill_context_parallel_size);
  return std::max<std::int64_t>(1, settings.tensor_parallel_size / std::max<std::int64_t>(kv_heads, 1)) * pcp;
}

void check_c1(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t dcp = role.settings.decode_context_parallel_size,
                       tp = role.settings.tensor_parallel_size;
    if (!sane(dcp) || !sane(tp) || dcp == 1 || (role.name == "draft" && tp % dcp != 0)) return;
    for (const KvGroup& group : role.kv) {
      if (group.kind != KvKind::PerHead || group.window) continue;
      const std::int64_t kv = std::max(group.kv_heads, 1), ceiling = ceiling_of(q, role.settings, kv);
      const std::string formula = "max(1, tp " + text(tp) + " // kv " + text(kv) + ")";
      if (dcp > ceiling) {
        out.refuse(role.field("decode_context_parallel_size"), text(dcp),
                   role.says("dcp=" + text(dcp) + " exceeds " + text(ceiling) + " = " + formula + ": with " +
                             text(kv) + " KV heads on " + text(tp) + " ranks each head is held " +
                             text(ceiling) + " time(s)"),
                   ceiling > 1 ? "use at most " + text(ceiling)
                               : "use more tensor ranks than KV heads, or no context shards");
      } else if (role.model.heads / kv % dcp != 0) {
        out.refuse(role.field("decode_context_parallel_size"), text(dcp),
                   role.says(text(role.model.heads / kv) +
                             " query heads per KV head not divisible by dcp=" + text(dcp)),
                   "choose a divisor");
      }
      return;  // groups of one model have the same fault
    }
  });
}

void check_c3(const Question& q, Reporter& out) {
  if (!q.draft || !q.view) return;
  const std::int64_t dcp = q.draft->decode_context_parallel_size, tp = q.draft->tensor_parallel_size;
  if (!sane(dcp) || !sane(tp) || dcp == 1) return;
  if (q.intent.draft->decode_context_parallel_size) {
    const auto why = why_not_sharded(*q.view->kv, q.view->model->heads, tp, dcp);
    if (!why) return;
    out.refuse("draft.decode_context_parallel_size", text(dcp),
               "draft: dcp=" + text(dcp) + " impossible: " + *why,
               "leave it out: the drafter's context is then whole on each rank");
    return;
  }
  if (tp % dcp == 0) return;
  // A target whose own sizes do not fit has told that already (A5).
  if (tp == q.target.tensor_parallel_size && q.target.decode_context_parallel_size == dcp) return;
  out.refuse("draft.tensor_parallel_size", text(tp),
             "draft: tp=" + text(tp) + " must be divisible by dcp=" + text(dcp) +
                 ", which the drafter keeps from its target",
             "give the drafter the target's tp=" + text(q.target.tensor_parallel_size) +
                 ", or drop the context shards");
}

void check_c7(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const std::int64_t dcp = role.settings.decode_context_parallel_size;
    if (dcp <= 1 || role.kv.empty()) return;
    // V4's rings are windowed latent rows beside compressed ones: none of both is shared by any engine.
    for (const KvGroup& group : role.kv) {
      if (!group.window) continue;
      const std::string where = group.layers.empty() ? "" : ", layer " + text(group.layers.front());
      out.refuse(role.field("decode_context_parallel_size"), text(dcp),
                 role.says("dcp=" + text(dcp) + ": a sliding window of " + text(*group.window) +
                           " tokens cannot be shared over ranks" + where),
                 "use no context shards");
      return;
    }
  });
}

void check_c7_all(const Question& q, Reporter& out) {
  check_c7(q, out);
  check_lse(q, out);
}

void check_c9(const Question& q, Reporter& out) {
  if (q.target.prefill_context_parallel_size <= 1 || !q.wants_draft()) return;
  out.refuse("target.prefill_context_parallel_size", text(q.target.prefill_context_parallel_size),
             "target+draft: prefill context parallelism does not go with a drafter: it would see shuffled "
             "hidden states",
             "drop one of them");
}

constexpr Rule kRules[] = {
    {.id = "C1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "context shards of grouped-query attention beyond the copies of each key-value head",
     .reason = "A rank attends with all query heads of its context group, so it must hold their key-value "
               "heads: only copied heads can share tokens.",
     .vllm = "vllm#55030, local-inference-lab/vllm#57: tensor parallel size must be greater than total num "
             "kv heads",
     .check = check_c1},
    {.id = "C2",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "can a group of layers share its context?",
     .reason = "It can if its rows are latent or its heads are copied over the context group, and it has no "
               "window. Every kernel here returns the log-sum-exp, non-causal blocks included."},
    {.id = "C3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the drafter cannot share its context as the target does",
     .reason =
         "Outrider collapses DCP, PCP, interleave and backend of the drafter in one edit and replicates its "
         "context; only an explicit value is refused. vLLM keeps the target's numbers and fails.",
     .vllm = "vllm#55472: tp_size must be divisible by dcp_size",
     .check = check_c3},
    {.id = "C4",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "one block table for both roles although one is replicated",
     .reason = "By construction: each role has block tables and slot mappings of its own (vllm#56723)."},
    {.id = "C5",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "log-sum-exp of different bases",
     .reason = "By construction: one base, natural, in every kernel."},
    {.id = "C6",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "verification with an interleave above 1 on a kernel that lacks it",
     .reason = "Outrider's attention takes a length per query (vllm#50391); no kernel of vLLM's declares to.",
     .vllm = "MTP with cp_kv_cache_interleave_size > 1 is not supported in",
     .check = check_c6},
    {.id = "C7",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "context shards over layers that cannot share, or by a kernel that returns no log-sum-exp",
     .reason =
         "A ring of the last tokens is too short to share, and no engine does it; shares are merged by their "
         "log-sum-exp, which every kernel of ours returns.",
     .vllm = "DCP not support sliding window; Decode Context Parallelism (DCP) requires attention "
             "implementations "
             "to return the softmax LSE",
     .check = check_c7_all},
    {.id = "C8",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "the cache does not fit, a replicated drafter counted in full",
     .reason = "Bytes per rank are in the plan; the cache is sized when memory is known."},
    {.id = "C9",
     .engines = kVllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "prefill context parallelism with a drafter",
     .reason = "The prompt's hidden states are not in order on any rank. Outrider has no prefill context "
               "parallelism at all (A6).",
     .vllm = "vllm#53673: MRV2 PCP does not support speculative decoding yet",
     .check = check_c9},
    {.id = "C10",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "prefill and decode instances disagree on the cache's layout",
     .reason = "While running, at the handshake (vllm#49230)."},
};

}  // namespace

std::span<const Rule> context_rules() { return kRules; }

}  // namespace outrider::plan
