#include "plan/derive_draft.h"

#include <algorithm>

#include "plan/derive_run.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;
using checkpoint::KvGroup;
using checkpoint::KvKind;

constexpr std::string_view kAsked = "asked for";

void derive_tensor(RoleSettings& settings, const Question& question, Reasons& reasons) {
  if (const auto asked = question.intent.draft->draft_tensor_parallel_size) {
    settings.tensor_parallel_size = *asked;
    reasons["tensor_parallel_size"] = kAsked;
  }
}

// Whole experts where the target has them and the drafter has experts at all (B8; vllm#55914, vllm#56930).
void derive_experts(RoleSettings& settings, const Question& question, Reasons& reasons) {
  if (const auto asked = question.intent.draft->enable_expert_parallel) {
    settings.enable_expert_parallel = *asked;
    reasons["enable_expert_parallel"] = kAsked;
  } else if (question.view->moe == nullptr) {
    settings.enable_expert_parallel = false;
    reasons["enable_expert_parallel"] = "the drafter is dense: it has no experts to spread";
  }
  if (!settings.enable_expert_parallel) settings.enable_ep_weight_filter = false;
  reasons["enable_ep_weight_filter"] = "only experts of expert-parallel roles are filtered";
  const bool groups = question.view->moe != nullptr && question.view->moe->groups > 1;
  if (settings.expert_placement_strategy == "round_robin" && (!settings.enable_expert_parallel || !groups)) {
    settings.expert_placement_strategy = "linear";
    reasons["expert_placement_strategy"] = "the drafter has no expert groups, so round robin falls back";
  }
}

// Why the drafter's experts are not balanced; absent: they are.
std::optional<std::string> why_unbalanced(const RoleSettings& settings, const Question& question) {
  const DraftView& view = *question.view;
  if (view.moe == nullptr) return "the drafter is dense: there is nothing to balance";
  if (question.is(Engine::Outrider)) {
    const bool given = question.intent.eplb_file
                           ? file_has_draft_rows(*question.intent.eplb_file, question.model().layer_count)
                           : question.intent.eplb_draft.has_value();
    if (given) return std::nullopt;
    return "no \"draft\" in the balancing config: the drafter's experts stay in the linear placement, "
           "without redundant slots";
  }
  if (question.is(Engine::Trtllm)) return std::nullopt;
  if (view.drafter->method == DraftMethod::DSpark || view.drafter->method == DraftMethod::DFlash) {
    return "vLLM balances no block drafter's experts (vllm#56387)";
  }
  const checkpoint::MoeFacts* target = question.model().moe ? &*question.model().moe : nullptr;
  if (target == nullptr || target->experts != view.moe->experts || target->groups != view.moe->groups) {
    return "vLLM balances drafter and target by one set of numbers: experts (" +
           std::to_string(view.moe->experts) + ", " + std::to_string(settings.num_redundant_experts) +
           ") differ from the target's (vllm#57549)";
  }
  return std::nullopt;
}

void take_asked(RoleSettings& settings, const AskedEplb& asked, Reasons& reasons) {
  const auto take = [&](const char* name, auto& member, const auto& value) {
    if (!value) return;
    member = *value;
    reasons[name] = kAsked;
  };
  take("window_size", settings.window_size, asked.window_size);
  take("step_interval", settings.step_interval, asked.step_interval);
  take("use_async", settings.use_async, asked.use_async);
  take("communicator", settings.communicator, asked.communicator);
  take("policy", settings.policy, asked.policy);
  take("log_balancedness", settings.log_balancedness, asked.log_balancedness);
  take("log_balancedness_interval", settings.log_balancedness_interval, asked.log_balancedness_interval);
}

void derive_balancing(RoleSettings& settings, const Question& question, Reasons& reasons) {
  const std::int64_t target_redundant = settings.num_redundant_experts;
  if (const auto why = settings.enable_eplb ? why_unbalanced(settings, question) : std::nullopt) {
    settings = without_eplb(settings);
    reasons["enable_eplb"] = reasons["enable_elastic_ep"] = *why;
    reasons["num_redundant_experts"] = "goes with enable_eplb, in one edit";
  } else if (settings.enable_eplb && question.intent.eplb_file) {
    const std::int64_t slots =
        question.intent.eplb_file->num_slots.value_or(target_redundant + question.view->moe->experts);
    settings.num_redundant_experts = slots - question.view->moe->experts;
    reasons["num_redundant_experts"] = "the file's num_slots less the drafter's own experts";
  } else if (question.is(Engine::Outrider) && question.intent.eplb_draft) {
    settings.num_redundant_experts = question.intent.eplb_draft->num_redundant_experts.value_or(0);
    reasons["num_redundant_experts"] = kAsked;
  }
  if (settings.enable_elastic_ep) {
    settings.enable_elastic_ep = false;
    reasons["enable_elastic_ep"] = "only the target's experts can be spread anew";
  }
  if (question.intent.eplb_draft && !question.is(Engine::Vllm))
    take_asked(settings, *question.intent.eplb_draft, reasons);
}

void collapse_context(RoleSettings& settings, std::string_view why, Reasons& reasons) {
  settings = without_context_shards(settings);
  reasons["decode_context_parallel_size"] = why;
  for (const char* name :
       {"prefill_context_parallel_size", "cp_kv_cache_interleave_size", "dcp_comm_backend"}) {
    reasons[name] = "goes with decode_context_parallel_size, in one edit";
  }
}

// C2, C3. vLLM keeps the target's numbers; the rules then say where that fails.
void derive_context(RoleSettings& settings, const Question& question, Reasons& reasons) {
  if (const auto asked = question.intent.draft->decode_context_parallel_size) {
    settings.decode_context_parallel_size = *asked;
    reasons["decode_context_parallel_size"] = kAsked;
    if (*asked == 1) collapse_context(settings, kAsked, reasons);
    return;
  }
  const std::int64_t shards = settings.decode_context_parallel_size;
  if (shards <= 1 || !sane(shards) || question.is(Engine::Vllm)) return;
  const auto why =
      why_not_sharded(*question.view->kv, question.view->model->heads, settings.tensor_parallel_size, shards);
  if (why) collapse_context(settings, *why + "; each rank keeps the drafter's whole context", reasons);
}

bool experts_quantised(const RoleSettings& settings) { return settings.quantization.has_value(); }

bool same_attention(const Question& question) {
  const checkpoint::ModelFacts& target = question.model();
  return question.view->model->attention == target.attention &&
         question.view->model->head_width == target.head_width;
}

// G3 to G5: the user's value, else the target's where it means something here, else the engine's choice.
void derive_kernels(RoleSettings& settings, const Question& question, Reasons& reasons) {
  const AskedDraft& asked = *question.intent.draft;
  const auto choose = [&](const char* name, std::string& value, const std::optional<std::string>& own,
                          bool fits, const char* why) {
    if (own) {
      value = *own;
      reasons[name] = kAsked;
    } else if (!fits) {
      value = "auto";
      reasons[name] = why;
    }
  };
  const bool quantised = experts_quantised(settings);
  const bool moe_fits =
      question.view->moe != nullptr && (quantised || !needs_quantised_experts(settings.moe_backend));
  choose("moe_backend", settings.moe_backend, asked.moe_backend, moe_fits,
         question.view->moe == nullptr ? "the drafter has no experts"
                                       : "this kernel is not for unquantised experts (vllm#56832)");
  choose("linear_backend", settings.linear_backend, std::nullopt,
         settings.quantization == question.target.quantization,
         "the drafter's weights have another format than the target's");
  choose("attention_backend", settings.attention_backend, asked.attention_backend, same_attention(question),
         "the drafter's attention is of another kind or head size (vllm#52288)");
  const bool kv_fits = !is_packed_latent(settings.kv_cache_dtype) || keeps_latent_rows(*question.view->kv);
  choose("kv_cache_dtype", settings.kv_cache_dtype, asked.kv_cache_dtype, kv_fits,
         "a packed latent type means nothing for keys and values per head (vllm#48380)");
  if (asked.enforce_eager) settings.enforce_eager = *asked.enforce_eager, reasons["enforce_eager"] = kAsked;
  if (settings.enable_dbo)
    settings.enable_dbo = false, reasons["enable_dbo"] = "a drafter runs whole batches";
}

// Patterns as published: "mtp*", "re:.*mtp.*", a module's name or the beginning of one.
bool pattern_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    for (std::size_t skip = 0; skip <= name.size(); ++skip) {
      if (pattern_matches(pattern.substr(1), name.substr(skip))) return true;
    }
    return false;
  }
  return !name.empty() && name.front() == pattern.front() &&
         pattern_matches(pattern.substr(1), name.substr(1));
}

bool is_ignored(const checkpoint::QuantFacts& quant, const std::string& module) {
  return std::any_of(quant.ignored.begin(), quant.ignored.end(), [&](const std::string& published) {
    std::string pattern = published.substr(0, 256);
    if (pattern.starts_with("re:")) pattern = pattern.substr(3);
    for (std::size_t at; (at = pattern.find(".*")) != std::string::npos;) pattern.replace(at, 2, "*");
    const auto stars = std::count(pattern.begin(), pattern.end(), '*');
    return stars <= 4 &&
           (pattern_matches(pattern, module) || (stars == 0 && module.starts_with(pattern + ".")));
  });
}

// Modules of a drafter inside the target's file are left out of the quantisation where the file lists them.
bool part_is_ignored(const Question& question, const checkpoint::QuantFacts& quant) {
  std::vector<std::string> modules;
  for (const checkpoint::TensorGroup& group : question.facts.target.tensors) {
    if (group.drafter && group.cut == checkpoint::Cut::Expert)
      modules.push_back(group.name.substr(0, group.name.rfind('.')));
  }
  if (modules.empty()) modules = {"mtp.0", "mtp.layers.0.mlp.experts"};
  return is_ignored(quant, modules.front());
}

std::optional<std::string> derive_quantization(const Question& question, Reasons& reasons) {
  reasons["quantization"] = "as the drafter's own file says";
  if (const auto& asked = question.intent.draft->quantization) {
    reasons["quantization"] = kAsked;
    return asked;
  }
  if (const auto bits = question.view->model->packed_bits) return "int" + std::to_string(*bits);
  const auto& quant = question.view->model->quantisation;
  if (!quant) return std::nullopt;
  if (question.view->inside_target && part_is_ignored(question, *quant)) {
    reasons["quantization"] = "the file leaves the drafter's modules out of its quantisation";
    return std::nullopt;
  }
  return quant->method;
}

// F1 to F5. vLLM's collective loaders enter over all ranks; ours over the role's own.
void derive_loader(RoleSettings& settings, const Question& question, Reasons& reasons) {
  if (const auto asked = asked_draft_loader(question.intent)) {
    settings.load_format = *asked;
    reasons["load_format"] = kAsked;
    return;
  }
  if (settings.load_format == "sharded_state" || settings.load_format == "tensorizer" ||
      settings.load_format == "runai_streamer_sharded") {
    if (question.view->inside_target) return;
    settings.load_format = "auto";
    reasons["load_format"] = "the target's archive does not hold the drafter";
  } else if (settings.load_format == "fastsafetensors" && !question.is(Engine::Outrider) &&
             question.target.pipeline_parallel_size > 1) {
    settings.load_format = "auto";
    reasons["load_format"] =
        "fastsafetensors enters over all ranks, and the drafter is on the last stage only (vllm#54416)";
  }
}

bool rope_may_grow(const Question& question) {
  if (question.view->model->rope_scaled) return false;
  const DraftMethod method = question.view->drafter->method;
  const bool reads_target = method != DraftMethod::DraftModel && method != DraftMethod::Pard;
  return question.is(Engine::Vllm) ? method == DraftMethod::Eagle3 : reads_target;
}

void derive_length(RoleSettings& settings, const Question& question, Reasons& reasons) {
  const auto& positions = question.view->model->positions_max;
  if (const auto asked = question.intent.draft->max_model_len) {
    settings.max_model_len = *asked;
    reasons["max_model_len"] = kAsked;
  } else if (positions && settings.max_model_len && *positions < *settings.max_model_len &&
             !rope_may_grow(question)) {
    settings.max_model_len = *positions;
    reasons["max_model_len"] = "the drafter has fewer positions than the target";
  }
}

std::vector<std::int64_t> widen(const std::vector<int>& values) { return {values.begin(), values.end()}; }

std::vector<std::int64_t> default_taps(const Question& question) {
  // vLLM's EAGLE-3 default, as streams that enter these layers (TapPoint::LayerInput).
  const std::int64_t layers = question.model().layer_count;
  return {2, layers / 2, layers - 3};
}

void derive_taps(DraftSettings& drafting, const Question& question) {
  const checkpoint::DrafterFacts& drafter = *question.view->drafter;
  if (drafter.taps) {
    drafting.taps = widen(*drafter.taps);
  } else if (drafter.method == DraftMethod::Eagle3 && question.model().layer_count >= 6) {
    drafting.taps = default_taps(question);
  }
  if (!drafting.taps) return;
  const std::vector<std::int64_t> split = derive_layer_split(question);
  drafting.tap_stages.emplace();
  for (const std::int64_t tap : *drafting.taps) {
    drafting.tap_stages->push_back(
        stage_of_layer(split, std::clamp<std::int64_t>(tap, 0, question.model().layer_count - 1)));
  }
}

std::int64_t derive_tokens(const Question& question) {
  if (const auto asked = question.intent.draft->num_speculative_tokens) return *asked;
  // A limit: how many are drafted follows the match.
  if (question.method.name == "suffix")
    return question.intent.draft->suffix_decoding_max_tree_depth.value_or(24);
  if (const auto ours = derive_run_tokens(question)) return *ours;
  if (!question.view) return 0;
  const checkpoint::DrafterFacts& drafter = *question.view->drafter;
  if (drafter.default_tokens) return *drafter.default_tokens;
  if (drafter.drafts_per_block) return *drafter.drafts_per_block;
  if (drafter.method == DraftMethod::Mtp) return drafter.predict_depth.value_or(drafter.stages);
  return 0;
}

}  // namespace

RoleSettings derive_draft(RoleSettings settings, const Question& question, Reasons& reasons) {
  if (!question.view->inside_target && question.intent.draft->model)
    settings.model = *question.intent.draft->model;
  settings.pipeline_parallel_size = question.intent.draft->pipeline_parallel_size.value_or(1);
  reasons["pipeline_parallel_size"] = "a drafter runs whole, on the last stage";
  derive_tensor(settings, question, reasons);
  settings.quantization = derive_quantization(question, reasons);
  derive_experts(settings, question, reasons);
  derive_balancing(settings, question, reasons);
  derive_context(settings, question, reasons);
  derive_kernels(settings, question, reasons);
  derive_loader(settings, question, reasons);
  derive_length(settings, question, reasons);
  return settings;
}

DraftSettings derive_drafting(const Question& question) {
  const AskedDraft& asked = *question.intent.draft;
  DraftSettings drafting;
  drafting.method = question.method.name;
  drafting.num_speculative_tokens = derive_tokens(question);
  if (asked.draft_sample_method) drafting.draft_sample_method = *asked.draft_sample_method;
  if (asked.rejection_sample_method) drafting.rejection_sample_method = *asked.rejection_sample_method;
  drafting.enable_adaptive_verification = asked.enable_adaptive_verification;
  derive_run_drafting(question, drafting);
  if (!question.view) return drafting;
  const checkpoint::DrafterFacts& drafter = *question.view->drafter;
  drafting.block_size = asked.block_size;
  if (!drafting.block_size && drafter.block_size) drafting.block_size = *drafter.block_size;
  if (drafter.drafts_per_block) drafting.drafts_per_block = *drafter.drafts_per_block;
  derive_taps(drafting, question);
  if (!drafter.layer_ids.empty()) drafting.layer_ids = widen(drafter.layer_ids);
  const std::int64_t vocabulary = question.view->model->vocabulary;
  drafting.draft_vocab_size = drafter.draft_vocabulary > 0 ? drafter.draft_vocabulary : vocabulary;
  drafting.id_map = *drafting.draft_vocab_size == vocabulary ? "none" : "d2t";
  const std::int64_t stages = question.target.pipeline_parallel_size;
  const bool ordinary = drafter.method == DraftMethod::DraftModel || drafter.method == DraftMethod::Pard;
  drafting.own_embedding = ordinary || drafter.own_embedding;
  drafting.own_head = ordinary || drafter.own_head;
  if (!drafter.own_embedding && !ordinary && stages > 1)
    drafting.needs_target_embedding_on_stage = stages - 1;
  drafting.kv_replicated = question.draft && question.target.decode_context_parallel_size > 1 &&
                           question.draft->decode_context_parallel_size == 1;
  return drafting;
}

}  // namespace outrider::plan
