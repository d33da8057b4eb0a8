#include "engine/derive_engine_plan.h"

#include "base/check.h"

namespace outrider::engine {
namespace {

using plan::RoleSettings;

template <class T>
const T& decided(const std::optional<T>& value) {
  OUTRIDER_CHECK_MSG(value.has_value(), "a plan for another engine, or for no machine");
  return *value;
}

// A name that a rule has judged.
template <class T>
T named(base::Result<T> parsed) {
  OUTRIDER_CHECK_MSG(parsed.ok(), "a name that no rule has judged");
  return std::move(parsed).value();
}

kernels::Arithmetic arithmetic_of(const RoleSettings& settings) {
  return decided(settings.compute_dtype) == "float32" ? kernels::Arithmetic::Float32
                                                      : kernels::Arithmetic::Bfloat16;
}

std::optional<kernels::WeightFormat> format_of(const RoleSettings& settings) {
  if (!settings.quantization) return std::nullopt;
  return *settings.quantization == "int8" ? kernels::WeightFormat::Int8 : kernels::WeightFormat::Int4;
}

cache::CachePlan cache_of(const RoleSettings& settings, std::vector<cache::LayerCache> layers) {
  return {
      .block_tokens = static_cast<int>(settings.kv_block_size),
      .block_count = decided(settings.num_kv_blocks),
      .dtype = decided(settings.kv_store_dtype) == "float32" ? kernels::KvDtype::F32 : kernels::KvDtype::Bf16,
      .layers = std::move(layers)};
}

decode::AcceptMethod accept_of(const std::string& name) {
  return named(decode::parse_accept_method(name, name));
}

draft::BlockPlan block_plan_of(const plan::DraftPlan& draft, const EnginePlan& target,
                               const checkpoint::DrafterShape& shape) {
  const auto slots = static_cast<int>(decided(draft.draft.block_slots));
  return {.shape = shape,
          .draft_tokens = static_cast<int>(draft.draft.num_speculative_tokens),
          .block_slots = slots,
          .method = named(decode::parse_draft_sample_method(draft.draft.draft_sample_method, "")),
          .accept = accept_of(draft.draft.rejection_sample_method),
          .cache = cache_of(decided(draft.role).settings, draft::derive_draft_cache_layers(shape)),
          .position_count = target.reachable_tokens() + slots};
}

DraftPlan draft_plan_of(const plan::DraftPlan& draft, const EnginePlan& target,
                        const std::optional<checkpoint::DrafterShape>& drafter) {
  const plan::DraftSettings& settings = draft.draft;
  DraftPlan made{
      .drafter = draft::NgramPlan{.draft_tokens = static_cast<int>(settings.num_speculative_tokens)},
      .accept = {.method = accept_of(settings.rejection_sample_method),
                 .synthetic_rates = settings.synthetic_acceptance_rates.value_or(std::vector<double>{})},
      .quantization = draft.role ? format_of(draft.role->settings) : std::nullopt,
      .confidence_threshold = decided(settings.confidence_threshold)};
  if (draft.role) {
    made.drafter = block_plan_of(draft, target, decided(drafter));
  } else {
    auto& ngram = std::get<draft::NgramPlan>(made.drafter);
    ngram.lookup_max = static_cast<int>(decided(settings.prompt_lookup_max));
    ngram.lookup_min = static_cast<int>(decided(settings.prompt_lookup_min));
  }
  return made;
}

}  // namespace

kernels::Target kernel_target_of(const std::string& name) { return named(kernels::parse_target(name)); }

EnginePlan derive_engine_plan(const plan::Plan& plan, const checkpoint::ModelShape& shape,
                              const std::optional<checkpoint::DrafterShape>& drafter) {
  OUTRIDER_CHECK_MSG(plan.target.layout.world_size == 1, "a plan for several ranks");
  const RoleSettings& settings = plan.target.settings;
  EnginePlan made{.target = kernel_target_of(decided(settings.kernel_target)),
                  .thread_count = static_cast<int>(decided(settings.num_threads)),
                  .arithmetic = arithmetic_of(settings),
                  .quantization = format_of(settings),
                  .shape = shape,
                  .cache = cache_of(settings, model::derive_cache_layers(shape)),
                  .sequence_tokens_max = decided(settings.max_model_len),
                  .step_rows_max = decided(settings.max_num_batched_tokens),
                  .sequences_max = decided(settings.max_num_seqs),
                  .accept = accept_of(decided(settings.draw_method)),
                  .draft = std::nullopt};
  if (plan.draft) made.draft = draft_plan_of(*plan.draft, made, drafter);
  return made;
}

}  // namespace outrider::engine
