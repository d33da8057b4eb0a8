// D: experts and their balancing; X2.
#include <algorithm>
#include <map>
#include <set>

#include "plan/derive.h"
#include "plan/rules.h"
#include "plan/rules_balance.h"
#include "plan/rules_engines.h"
#include "plan/rules_eplb_file.h"

namespace outrider::plan {
namespace {

constexpr const char* kRedundant = "eplb_config.num_redundant_experts";

void check_d1(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (!role.settings.enable_eplb || role.settings.enable_expert_parallel) return;
    // An inherited fault is the target's.
    if (role.name == "draft" && q.target.enable_eplb && !q.target.enable_expert_parallel) return;
    out.refuse(role.field("enable_eplb"), "true", role.says("enable_eplb requires enable_expert_parallel"),
               "add --enable-expert-parallel");
  });
}

void check_d2(const Question& q, Reporter& out) {
  const RoleSettings& t = q.target;
  if (!t.enable_eplb || !sane(t.tensor_parallel_size) || !sane(t.data_parallel_size)) return;
  const std::int64_t ranks = shape_of(t).expert_ranks();
  if (ranks > 1) return;
  out.refuse("target.enable_eplb", "true",
             "target: balancing needs more than 1 expert rank, got tensor=" + text(t.tensor_parallel_size) +
                 " x data=" + text(t.data_parallel_size),
             "raise tensor or data parallelism, or leave balancing out");
}

void check_d3(const Question& q, Reporter& out) {
  const auto refuse = [&](const std::string& role, std::int64_t redundant) {
    out.refuse(role + "." + kRedundant, text(redundant),
               role + ": num_redundant_experts=" + text(redundant) + " is set but EPLB is not enabled",
               "add --enable-eplb, or leave it out");
  };
  if (!q.target.enable_eplb && q.intent.eplb.num_redundant_experts.value_or(0) != 0) {
    refuse("target", *q.intent.eplb.num_redundant_experts);
  }
  if (q.intent.eplb_file && !q.target.enable_eplb) {
    out.refuse("target.enable_eplb", "false",
               "target: a balancing file is given but EPLB is not enabled: it would have no effect",
               "add --enable-eplb, or leave the file out");
  }
  if (!q.target.enable_eplb && q.intent.eplb_draft &&
      q.intent.eplb_draft->num_redundant_experts.value_or(0) != 0) {
    refuse("draft", *q.intent.eplb_draft->num_redundant_experts);
  }
}

void check_d4(const Question& q, Reporter& out) {
  if (!q.target.enable_elastic_ep) return;
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    out.refuse("target.enable_elastic_ep", "true", "target: elastic EP " + why, remedy);
  };
  if (q.is(Engine::Outrider))
    refuse("is not in this engine", "leave it out; --as vllm judges it by vLLM's rules");
  if (!q.target.enable_eplb) refuse("is only supported with enable_eplb", "add --enable-eplb");
  if (q.target.pipeline_parallel_size > 1) {
    refuse("is not supported with pipeline parallelism (pipeline_parallel_size=" +
               text(q.target.pipeline_parallel_size) + ")",
           "use one stage");
  }
  if (q.intent.target.data_parallel_hybrid_lb.value_or(false))
    refuse("is not compatible with data_parallel_hybrid_lb", "leave that out");
  if (q.view && q.view->moe != nullptr)
    refuse("does not reshard a draft with experts", "leave out elastic EP or the drafter");
  const auto& communicator = q.target.communicator;
  if (q.target.use_async && communicator && *communicator != "nixl") {
    refuse("with asynchronous moves needs communicator nixl, not " + *communicator,
           "set eplb_config.use_async=false or communicator=nixl");
  }
}

void check_d6(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || role.moe->groups < 1 || role.moe->experts % role.moe->groups == 0) return;
    out.refuse(role.field("config.n_group"), text(role.moe->groups),
               role.says(text(role.moe->experts) + " experts not divisible by " + text(role.moe->groups) +
                         " groups"),
               "correct the config");
  });
}

void check_d7(const Question& q, Reporter& out) {
  const auto& moe = q.model().moe;
  const std::int64_t nodes = q.machine.nodes.value_or(q.intent.target.nnodes.value_or(1));
  if (!moe || !q.target.enable_eplb || nodes <= 1) return;
  const std::int64_t ranks = shape_of(q.target).expert_ranks();
  if (moe->groups % nodes == 0 && ranks % nodes == 0) return;
  out.warn("target.eplb_config.policy", Json(q.target.policy),
           "target: " + text(moe->groups) + " expert groups or " + text(ranks) +
               " ranks do not divide over " + text(nodes) +
               " nodes: experts are balanced globally, not node by node");
}

void check_d8(const Question& q, Reporter& out) {
  if (!q.draft || q.view->moe == nullptr || !q.target.enable_eplb || q.draft->enable_eplb) return;
  out.warn("draft.enable_eplb", Json(false), "draft: EPLB is off for the draft; on for the target");
}

void check_d10(const Question& q, Reporter& out) {
  if (q.target.enable_eplb && !q.model().moe && !q.target.enable_expert_parallel) {
    out.refuse("target.enable_eplb", "true", "target: EPLB on, but the model has no MoE layers",
               "leave it out");
  }
  const bool asked = q.intent.eplb_draft.has_value();
  if (asked && q.view && q.view->moe == nullptr) {
    out.refuse("draft.enable_eplb", "true",
               "draft: \"draft\" in the balancing config, but the draft has 0 experts",
               "leave \"draft\" out");
  }
  if (asked && (!q.wants_draft() || (q.method.known && !q.method.name.empty() && !q.method.kind))) {
    out.refuse("draft.enable_eplb", "true",
               "draft: \"draft\" in the balancing config, but there is no drafter with experts",
               "leave \"draft\" out");
  }
}

void check_d8_all(const Question& q, Reporter& out) {
  check_d8(q, out);
  check_d8_trtllm(q, out);
}
void check_d10_all(const Question& q, Reporter& out) {
  check_d10(q, out);
  check_d10_trtllm(q, out);
}

void check_d18(const Question& q, Reporter& out) {
  if (!q.view || !q.view->native_elsewhere) return;
  const std::int64_t draft = q.view->model->layer_count, target = q.model().layer_count;
  if (draft == target) return;
  out.refuse("draft.config.num_hidden_layers", text(draft),
             "draft: its config says num_hidden_layers=" + text(draft) + ", the target's says " +
                 text(target) + ": the drafter's stages would be numbered from " + text(draft),
             "use the drafter of this target");
}

void check_d19(const Question& q, Reporter& out) {
  if (!q.view || q.view->moe == nullptr || q.model().moe) return;
  if (!q.draft->enable_expert_parallel && q.target.data_parallel_size <= 1) return;
  out.refuse("draft.enable_expert_parallel", text(q.draft->enable_expert_parallel),
             "draft: the draft is MoE, the target is dense: no expert group exists",
             "run the drafter without expert and data parallelism");
}

void check_x2(const Question& q, Reporter& out) {
  if (!q.target.enable_expert_parallel || q.model().moe) return;
  out.refuse("target.enable_expert_parallel", "true",
             "target: expert parallelism requested but the model has 0 experts", "leave it out");
}

constexpr Rule kRules[] = {
    {.id = "D1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "balancing without expert parallelism",
     .reason = "Whole experts move; slices of all experts have no load of their own.",
     .vllm = "enable_expert_parallel must be True to use EPLB",
     .trtllm = "Load Balancer should be only used with ADP and EP > 1",
     .check = check_d1},
    {.id = "D2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "balancing over one rank",
     .reason = "There is nothing to balance over.",
     .vllm = "EPLB requires tensor, prefill-context, or data parallelism",
     .trtllm = "TensorRT-LLM#18626: ignored in silence",
     .check = check_d2},
    {.id = "D3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "redundant experts, or a balancing file, without balancing",
     .reason = "They would have no effect. A drafter whose balancing is derived off loses its redundant "
               "experts in the same edit.",
     .vllm = "num_redundant_experts is set to N but EPLB is not enabled (vllm#56387)",
     .trtllm = "TensorRT-LLM#18626",
     .check = check_d3},
    {.id = "D4",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "elastic expert parallelism without balancing, with stages, hybrid load balancing, a "
                  "drafter with experts, or a transport that cannot",
     .reason = "Only the target's experts are spread anew, between steps, by one-sided copies.",
     .vllm = "vllm#34861, vllm#56387: Elastic EP is not supported with drafter model / only supported with "
             "enable_eplb=True / not supported with pipeline parallelism",
     .check = check_d4},
    {.id = "D5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "slots are not divisible by the expert ranks, where balancing is on",
     .reason = "Every rank holds the same number of slots. Without balancing an uneven split is legal: the "
               "first ranks hold one expert more.",
     .vllm = "EPLB currently only supports even distribution of experts across ranks (vllm#18343)",
     .trtllm = "`num_slots` must be divisible by `ep_size`",
     .check = check_d5},
    {.id = "D6",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "experts are not divisible by their groups",
     .reason = "Group-limited routing picks whole groups.",
     .check = check_d6},
    {.id = "D7",
     .engines = kAllEngines,
     .verdict = Verdict::Warn,
     .condition = "groups or ranks do not divide over nodes",
     .reason = "Balancing falls back from node by node to global.",
     .check = check_d7},
    {.id = "D8",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "balancing is on for the target, and the drafter is not balanced",
     .reason = "Under our own rules a drafter's experts are balanced where the config has \"draft\", or the "
               "file its layers; else they keep the linear placement without redundant slots.",
     .vllm = "vllm#56387: EPLB requires expert_load_view != None",
     .trtllm = "TensorRT-LLM#16938: only DSpark drafters get the balancer's config",
     .check = check_d8_all},
    {.id = "D9",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "drafter and target have other numbers of experts or groups",
     .reason = "Outrider keeps one domain per role, so 384 and 128 balance side by side. vLLM has one set of "
               "numbers and turns the drafter's off (vllm#57549)."},
    {.id = "D10",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "balancing of a role without experts, or of a class that does not balance",
     .reason = "There is nothing to balance.",
     .vllm = "vllm#32565, vllm#41941",
     .trtllm = "TensorRT-LLM#18626: ignored in silence",
     .check = check_d10_all},
    {.id = "D11",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "balancing of a weight format whose experts cannot move",
     .reason = "In Outrider everything that belongs to an expert moves with it, scales included. vLLM's "
               "classes say "
               "whether theirs can.",
     .vllm = "EPLB is not supported",
     .check = check_d11},
    {.id = "D12",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "both roles under one key of balancing state",
     .reason = "By construction: state is kept by role."},
    {.id = "D13",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "asynchronous balancing over NCCL",
     .reason = "Two streams of one communicator can wait for each other.",
     .vllm = "vllm#44978: communicator is incompatible with async EPLB due to NCCL multi-stream conflicts",
     .check = check_d13},
    {.id = "D14",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the communicator is not given",
     .reason = "Chosen by what is installed, when the engine starts."},
    {.id = "D15",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a rank of the expert group is taken for a global one",
     .reason = "By construction: the two are different types."},
    {.id = "D16",
     .engines = kNotVllm,
     .verdict = Verdict::Refuse,
     .condition =
         "online balancing of a drafter that may be idle; under our own rules, a negative update count",
     .reason = "TensorRT-LLM's worker waits for every layer in every step. Outrider's domains have counters "
               "of their own: one that does not run does not advance.",
     .trtllm = "TensorRT-LLM#16938: DSpark speculative decoding supports static EPLB only",
     .check = check_d16},
    {.id = "D17",
     .engines = kNotVllm,
     .verdict = Verdict::Refuse,
     .condition = "a static assignment with missing or extra layers, wrong lengths, unknown experts, or "
                  "experts without a slot",
     .reason = "Each fault would end the start-up one by one, after minutes of loading. A map that is given "
               "and empty is a fault too.",
     .trtllm = "TensorRT-LLM#16938: initial_global_assignments is missing DSpark layer(s)",
     .check = check_d17},
    {.id = "D18",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the drafter's stages would not be numbered behind the target's layers",
     .reason = "Cache, balancing and names share one space of layers.",
     .vllm = "Duplicate layer name",
     .trtllm = "TensorRT-LLM#16938: DSpark + EPLB requires the draft checkpoint config to report the same "
               "num_hidden_layers as the target",
     .check = check_d18},
    {.id = "D19",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "a dense target, a drafter with experts, and expert or data parallelism",
     .reason = "Other engines make the expert group for the target only. Outrider makes one per role.",
     .vllm = "no expert group is initialised for a dense target",
     .check = check_d19},
    {.id = "D20",
     .engines = kNotTrtllm,
     .verdict = Verdict::Refuse,
     .condition = "the interval is shorter than one cycle of asynchronous moves; a window longer than the "
                  "interval is noted",
     .reason = "One layer moves in a step; a cycle that cannot finish charges every step and never balances.",
     .vllm = "vllm#57883",
     .check = check_d20},
    {.id = "D21",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "redundant experts below zero after an elastic change",
     .reason = "While running, when ranks change; Outrider does not change them."},
    {.id = "D22",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the weight filter together with balancing",
     .reason = "The filter is turned off: it would drop replicas."},
    {.id = "D23",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "round-robin placement that falls back to linear",
     .reason = "The resolved strategy is in the plan, and loader and map both use it."},
    {.id = "D24",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a drafter without balancing reads or writes the target's tables",
     .reason = "By construction: its table is the identity, and it records nothing (sglang#16044)."},
    {.id = "X2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "expert parallelism of a dense target",
     .reason = "It has no experts. A dense drafter gets none by derivation (B8, B9).",
     .vllm = "Number of experts in the model must be greater than 0 when expert parallelism is enabled",
     .check = check_x2},
};

}  // namespace

std::span<const Rule> expert_rules() { return kRules; }

}  // namespace outrider::plan
