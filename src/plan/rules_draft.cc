// B: how the drafter's settings follow from the target's.
#include <algorithm>
#include <array>
#include <limits>

#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

bool is_method(const Question& q, DraftMethod kind) { return q.method.kind == kind; }

void check_b2(const Question& q, Reporter& out) {
  if (!q.intent.draft || q.intent.draft->pipeline_parallel_size.value_or(1) <= 1) return;
  const std::int64_t pp = *q.intent.draft->pipeline_parallel_size;
  out.refuse("draft.pipeline_parallel_size", text(pp),
             "draft: pipeline parallel drafts are not supported (got " + text(pp) +
                 "); the draft runs on the last stage",
             "leave it out");
}

void check_b4(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->draft_tensor_parallel_size) return;
  const std::int64_t d = *q.intent.draft->draft_tensor_parallel_size, t = q.target.tensor_parallel_size;
  if (!sane(d) || !sane(t) || d == 1 || d == t) return;
  if (q.is(Engine::Outrider)) {
    if (t % d == 0) return;
    out.refuse("draft.tensor_parallel_size", text(d),
               "draft: tp=" + text(d) + " must divide target tp=" + text(t),
               "choose a divisor of " + text(t));
  } else {
    out.refuse("draft.tensor_parallel_size", text(d),
               "draft: tp=" + text(d) + " must be 1 or equal to target tp=" + text(t),
               "leave it out, or give 1 or " + text(t));
  }
}

void check_b5(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->draft_tensor_parallel_size) return;
  const std::int64_t d = *q.intent.draft->draft_tensor_parallel_size, t = q.target.tensor_parallel_size;
  const bool ordinary = is_method(q, DraftMethod::DraftModel) || is_method(q, DraftMethod::Pard);
  if ((!ordinary && !q.is(Engine::Trtllm)) || d != 1 || !sane(t) || t == 1) return;
  out.refuse(
      "draft.tensor_parallel_size", text(d),
      "draft: tp=" + text(d) + " requested but the drafter runs on the target's tp group of " + text(t),
      "leave it out, or give " + text(t));
}

void check_b7(const Question& q, Reporter& out) {
  if (q.intent.draft && q.intent.draft->enforce_eager == false && q.target.enforce_eager) {
    out.warn("draft.enforce_eager", Json(false),
             "draft: graphs are captured for the drafter although the target runs eager");
  }
}

void check_b8(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || role.settings.enable_expert_parallel ||
        !needs_expert_parallel(role.settings.moe_backend))
      return;
    // A drafter that only inherited the fault is not told twice.
    const bool inherited =
        role.name == "draft" && !q.intent.draft->moe_backend && !q.target.enable_expert_parallel;
    if (inherited) return;
    out.refuse(role.field("moe_backend"), role.settings.moe_backend,
               role.says("moe_backend=" + role.settings.moe_backend + " requires expert parallel"),
               "add --enable-expert-parallel");
  });
}

void check_b9(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->enable_expert_parallel.value_or(false) || !q.view ||
      q.view->moe != nullptr)
    return;
  out.refuse("draft.enable_expert_parallel", "true",
             "draft: expert parallel requested but the draft has 0 experts", "leave it out");
}

void check_b11(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->max_model_len) return;
  const std::int64_t asked = *q.intent.draft->max_model_len;
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t target = q.target.max_model_len.value_or(kNoLimit);
  const std::int64_t positions = q.view ? q.view->model->positions_max.value_or(kNoLimit) : kNoLimit;
  const bool above_target = asked > target, above_draft = asked > positions;
  if (!above_target && !above_draft) return;
  std::string message = "draft: max_model_len=" + text(asked) + " cannot be larger than";
  if (above_target) message += " the target's max_model_len=" + text(target);
  if (above_draft)
    message += std::string(above_target ? " and" : "") + " the drafter's " + text(positions) + " positions";
  out.refuse("draft.max_model_len", text(asked), message, "leave it out: the smaller of both is taken");
}

void check_b12(const Question& q, Reporter& out) {
  if (!q.draft || q.view->moe == nullptr || q.target.data_parallel_size <= 1) return;
  if (!q.draft->max_model_len || !q.target.max_model_len ||
      *q.draft->max_model_len >= *q.target.max_model_len)
    return;
  const std::string lengths = "drafts up to " + text(*q.draft->max_model_len) + " tokens, the target up to " +
                              text(*q.target.max_model_len);
  if (q.intent.draft->max_model_len) {
    out.refuse("draft.max_model_len", text(*q.draft->max_model_len),
               "draft: " + lengths + ": ranks near the limit would skip the drafter and deadlock",
               "leave out max_model_len, or lower the target's");
  } else {
    out.warn("draft.max_model_len", Json(*q.draft->max_model_len),
             "draft: " + lengths + "; the drafter's ranks stay in step without it");
  }
}

void check_b14(const Question& q, Reporter& out) {
  if (!q.drafting || q.method.name.empty() || !q.method.known) return;
  const auto& asked = q.intent.draft->num_speculative_tokens;
  const bool model_missing = q.method.kind && !q.view;
  const bool inside = is_method(q, DraftMethod::Mtp) || is_method(q, DraftMethod::DSpark);
  if (!asked && q.is(Engine::Vllm) && inside && !q.intent.draft->model && !model_missing) {
    out.warn("draft.num_speculative_tokens", Json(q.drafting->num_speculative_tokens),
             "draft: vLLM may want num_speculative_tokens in these words where no model is given");
  }
  if (!asked && q.drafting->num_speculative_tokens == 0 && !model_missing) {
    out.refuse("draft.num_speculative_tokens", "",
               "draft: num_speculative_tokens is not given, and nothing says how many to draft",
               "add \"num_speculative_tokens\"");
  }
  if (!asked && model_missing && q.method.kind == DraftMethod::DraftModel) {
    out.refuse("draft.num_speculative_tokens", "", "draft: num_speculative_tokens is not given",
               "add \"num_speculative_tokens\"");
  }
  if (!asked || !q.view || q.view->drafter->method != DraftMethod::Mtp) return;
  const std::int64_t depth = q.view->drafter->predict_depth.value_or(q.view->drafter->stages);
  if (depth < 1 || *asked <= depth || *asked % depth == 0) return;
  out.refuse(
      "draft.num_speculative_tokens", text(*asked),
      "draft: num_speculative_tokens=" + text(*asked) + " must be divisible by n_predict=" + text(depth),
      "choose a multiple");
}

// A block drafter without a Markov head is both for vLLM: DSpark of rank 0 and DFlash. Under our own rules a
// name that is given must be the file's kind: who asks for the other has another file in mind.
bool serves(const Question& q, const checkpoint::DrafterFacts& drafter, DraftMethod asked) {
  if (drafter.method == asked) return true;
  // vLLM runs PARD as a draft model, with "parallel_drafting".
  if (q.is(Engine::Vllm) && asked == DraftMethod::DraftModel && drafter.method == DraftMethod::Pard)
    return true;
  const auto is_block = [](DraftMethod method) {
    return method == DraftMethod::DSpark || method == DraftMethod::DFlash;
  };
  return is_block(drafter.method) && is_block(asked) && !q.is(Engine::Outrider) && !drafter.markov;
}

// A class of another family than the config's keys: told only where the class names one of the families that
// are read by keys of their own; a plain Llama class is what many converters write.
void check_b15(const Question& q, Reporter& out) {
  if (!q.view) return;
  const bool own_file = !q.view->inside_target && !q.view->native_elsewhere;
  if (own_file && q.intent.draft->method && q.method.kind && !serves(q, *q.view->drafter, *q.method.kind)) {
    const std::string found(checkpoint::name_of(q.view->drafter->method));
    out.refuse("draft.method", q.method.name,
               "draft: method=" + q.method.name + " but the file is a drafter of kind " + found,
               "use method " + found);
  }
  if (!own_file || q.view->model->architectures.empty()) return;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kFamilies = {
      {{"DeepseekV4ForCausalLM", "deepseek_v4"},
       {"DeepseekV41ForCausalLM", "deepseek_v41"},
       {"DeepseekV3ForCausalLM", "deepseek_v3"},
       {"Qwen3ForCausalLM", "qwen3"},
       {"Qwen3MoeForCausalLM", "qwen3_moe"},
       {"GptOssForCausalLM", "gpt_oss"},
       {"KimiK3ForCausalLM", "kimi_k3"}}};
  const std::string& named = q.view->model->architectures.front();
  for (const auto& [architecture, model_type] : kFamilies) {
    if (named != architecture || q.view->model->model_type == model_type) continue;
    out.refuse("draft.config.architectures", named,
               "draft: architectures=" + named + " but model_type=" + q.view->model->model_type,
               "correct the drafter's config.json");
  }
}

bool needs_own_file(const Question& q) {
  if (is_method(q, DraftMethod::Mtp)) return false;
  if (is_method(q, DraftMethod::DSpark))
    return !q.facts.target.drafter || q.facts.target.drafter->method != DraftMethod::DSpark;
  return q.method.kind.has_value();
}

void check_b16(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.facts.draft_is_target || !q.intent.draft->model || !needs_own_file(q)) return;
  out.refuse(
      "draft.model", *q.intent.draft->model,
      "draft: the model path is the target's, but method " + q.method.name + " needs a checkpoint of its own",
      "give the drafter's path");
}

constexpr Rule kRules[] = {
    {.id = "B1",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a field of the settings has no declared policy",
     .reason = "Does not compile: src/plan/settings.h has one list, and each entry states inherit, override "
               "or own."},
    {.id = "B2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "an explicit pipeline size of the drafter other than 1",
     .reason = "A drafter has few layers and needs the target's last hidden states: it runs whole on the "
               "last stage. Unset, 1 is derived.",
     .vllm = "vllm#50514, vllm#52069",
     .check = check_b2},
    {.id = "B3",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter's tensor size is not given",
     .reason = "It follows the target's.",
     .vllm = "parallel.py default"},
    {.id = "B4",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the drafter's tensor size is neither 1 nor the target's; under our own rules, no divisor "
                  "of the target's",
     .reason = "Outrider gives each role groups of its own, so that any divisor works; other engines run "
               "drafters on the target's group.",
     .vllm = "vllm#10483: speculative_draft_tensor_parallel_size cannot be other value than 1 or target "
             "model tensor_parallel_size",
     .check = check_b4},
    {.id = "B5",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "a draft model with tensor size 1 beside a larger target",
     .reason = "Its layers read the process-wide tensor group: the size given would be without effect.",
     .vllm =
         "vllm#31345: Currently, 'draft_tensor_parallel_size' and 'tensor_parallel_size' must be the same",
     .check = check_b5},
    {.id = "B6",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "tensor_parallel_size inside the speculative config",
     .reason = "It would be taken for the target's. Told while reading the command line.",
     .vllm = "'tensor_parallel_size' is not a valid argument in the speculative_config"},
    {.id = "B7",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "data parallelism, launcher, ports and timeouts of the drafter",
     .reason = "Inherited by value, always: both roles are in the same lock-step (vllm#26187).",
     .check = check_b7},
    {.id = "B8",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "an expert kernel that needs expert parallelism, and a role with experts without it",
     .reason = "A drafter with experts gets expert parallelism from its target by derivation; it is refused "
               "only where nobody asked for it.",
     .vllm = "vllm#55914: DeepSeek V4 MegaMoE currently requires expert parallel",
     .check = check_b8},
    {.id = "B9",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "explicit expert parallelism of a dense drafter",
     .reason =
         "A dense drafter of a target with experts gets none by derivation; asking for it is a mistake.",
     .vllm = "vllm#56930",
     .check = check_b9},
    {.id = "B10",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "micro-batching of the drafter",
     .reason = "Off: a draft pass has other token counts than the target's."},
    {.id = "B11",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the drafter's max_model_len exceeds its own positions or the target's length",
     .reason = "Unset, the smaller of both is derived.",
     .vllm = "speculative_max_model_len cannot be larger than draft_max_model_len / target_max_model_len",
     .check = check_b11},
    {.id = "B12",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a drafter with experts under data parallelism that drafts shorter than the target runs",
     .reason = "Near the limit some ranks would skip the drafter while others wait in its exchange.",
     .vllm = "vllm#44185, vllm#29422",
     .check = check_b12},
    {.id = "B13",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter's positions end before the target's length",
     .reason = "A drafter that reads the target's hidden states gets a longer rotary table, unless its "
               "rotation is scaled (vllm#48894)."},
    {.id = "B14",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "num_speculative_tokens is not given and cannot be derived; or a serial MTP depth does not "
                  "divide it",
     .reason = "Block drafters and MTP say how many they draft; a draft model does not. The depth rule is "
               "for serial MTP only: V4.1's count of 3 counts stages.",
     .vllm = "A speculative model was provided, but `num_speculative_tokens` was not provided",
     .check = check_b14},
    {.id = "B15",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the class name, or the method asked for, contradicts the drafter's own keys",
     .reason = "Three formats share one class name; keys and tensors decide. A class prefix other than "
               "model_type is no conflict.",
     .vllm = "local-inference-lab/vllm#442",
     .check = check_b15},
    {.id = "B16",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the drafter's path is the target's, for a method with a checkpoint of its own",
     .reason = "A path that fell back to the target's would draft with the target.",
     .vllm = "llama.cpp#26968",
     .check = check_b16},
};

}  // namespace

std::span<const Rule> draft_rules() { return kRules; }

}  // namespace outrider::plan
