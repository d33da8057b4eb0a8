#include "engine/settings.h"

#include <algorithm>

#include "base/inspector.h"

namespace outrider::engine {
namespace {

using checkpoint::BlockLayout;

kernels::Arithmetic choose_arithmetic(DtypeChoice choice, tensor::Dtype weights) {
  if (choice == DtypeChoice::Float32) return kernels::Arithmetic::Float32;
  if (choice == DtypeChoice::Bfloat16) return kernels::Arithmetic::Bfloat16;
  // f16 weights have three bits more than bf16 holds: they are computed in full.
  return weights == tensor::Dtype::BF16 ? kernels::Arithmetic::Bfloat16 : kernels::Arithmetic::Float32;
}

kernels::KvDtype choose_kv_dtype(DtypeChoice choice, kernels::Arithmetic arithmetic) {
  if (choice == DtypeChoice::Float32) return kernels::KvDtype::F32;
  if (choice == DtypeChoice::Bfloat16) return kernels::KvDtype::Bf16;
  return arithmetic == kernels::Arithmetic::Float32 ? kernels::KvDtype::F32 : kernels::KvDtype::Bf16;
}

void require_at_least(base::Inspector& inspector, const char* field, std::int64_t value, std::int64_t least) {
  inspector.require(value >= least, {.field = field,
                                     .found = std::to_string(value),
                                     .rule = "must be at least " + std::to_string(least),
                                     .remedy = ""});
}

// N drafts and S slots: S as trained unless N needs more, or as asked if that is enough for
// N.
struct BlockNumbers {
  int drafts, slots;
};
BlockNumbers derive_block_numbers(const SpeculativeSettings& settings, const checkpoint::DrafterShape& shape,
                                  base::Inspector& inspector) {
  const int idle = shape.layout == BlockLayout::AnchorFirst ? 0 : 1;
  const int asked = settings.block_size.value_or(shape.block_size);
  const int drafts = settings.draft_tokens.value_or(asked - idle);
  const int slots = settings.block_size.value_or(std::max(shape.block_size, drafts + idle));
  inspector.require(slots >= drafts + idle && slots > idle,
                    {.field = "draft.block_size",
                     .found = std::to_string(slots),
                     .rule = "must be at least " + std::to_string(std::max(drafts, 1) + idle) +
                             " for num_speculative_tokens = " + std::to_string(drafts),
                     .remedy = "drop block_size: it grows by itself where N needs more"});
  return {drafts, slots};
}

draft::BlockPlan derive_block_plan(const EngineSettings& settings, const EnginePlan& plan,
                                   const checkpoint::DrafterShape& shape, base::Inspector& inspector) {
  const SpeculativeSettings& speculative = *settings.speculative;
  const BlockNumbers numbers = derive_block_numbers(speculative, shape, inspector);
  const std::int64_t longest = plan.reachable_tokens() + numbers.slots;
  // Context rows of every position the target's cache can hold, and room for one block and a part of a block
  // per sequence.
  const std::int64_t blocks =
      plan.cache.block_count +
      plan.sequences_max * (cache::blocks_for(numbers.slots, settings.block_tokens) + 1);
  return {.shape = shape,
          .draft_tokens = numbers.drafts,
          .block_slots = numbers.slots,
          .method = speculative.sample_method,
          .accept = speculative.accept,
          .cache = {.block_tokens = settings.block_tokens,
                    .block_count = blocks,
                    .dtype = plan.cache.dtype,
                    .layers = draft::derive_draft_cache_layers(shape)},
          .position_count = longest};
}

DraftPlan derive_draft_plan(const EngineSettings& settings, const EnginePlan& plan,
                            const std::optional<checkpoint::DrafterShape>& drafter,
                            base::Inspector& inspector) {
  const SpeculativeSettings& speculative = *settings.speculative;
  DraftPlan made{.drafter = draft::NgramPlan{.lookup_max = speculative.lookup_max,
                                             .lookup_min = speculative.lookup_min,
                                             .draft_tokens = speculative.draft_tokens.value_or(5)},
                 .accept = {.method = speculative.accept},
                 .quantization = speculative.quantization,
                 .confidence_threshold = speculative.confidence_threshold};
  int drafts = speculative.draft_tokens.value_or(5);
  if (drafter) {
    draft::BlockPlan block = derive_block_plan(settings, plan, *drafter, inspector);
    drafts = block.draft_tokens;
    made.drafter = std::move(block);
  }
  if (speculative.accept == decode::AcceptMethod::Synthetic) {
    auto rates =
        decode::parse_synthetic_rates(speculative.synthetic_rates, speculative.synthetic_length, drafts);
    if (rates.ok()) {
      made.accept.synthetic_rates = std::move(rates).value();
    } else {
      inspector.report_all(std::move(rates).error());
    }
  }
  return made;
}

}  // namespace

base::Result<EnginePlan> derive_engine_plan(const EngineSettings& settings,
                                            const checkpoint::ModelShape& shape,
                                            const std::optional<checkpoint::DrafterShape>& drafter) {
  base::Inspector inspector;
  require_at_least(inspector, "--num-threads", settings.thread_count, 1);
  require_at_least(inspector, "--block-size", settings.block_tokens, 1);
  require_at_least(inspector, "--max-num-batched-tokens", settings.step_rows_max, 1);
  require_at_least(inspector, "--max-num-seqs", settings.sequences_max, 1);
  const std::int64_t longest = settings.sequence_tokens_max.value_or(shape.positions_max);
  require_at_least(inspector, "--max-model-len", longest, 1);
  inspector.require(
      longest <= shape.positions_max,
      {.field = "--max-model-len",
       .found = std::to_string(longest),
       .rule = "must not exceed the model's " + std::to_string(shape.positions_max) + " positions",
       .remedy = ""});
  if (!inspector.clean()) return std::move(inspector).refuse();

  const kernels::Arithmetic arithmetic = choose_arithmetic(settings.dtype, shape.weight_dtype);
  EnginePlan plan{.target = settings.target,
                  .thread_count = settings.thread_count,
                  .arithmetic = arithmetic,
                  .quantization = settings.quantization,
                  .shape = shape,
                  .cache = {.block_tokens = settings.block_tokens,
                            .block_count = 0,
                            .dtype = choose_kv_dtype(settings.kv_dtype, arithmetic),
                            .layers = model::derive_cache_layers(shape)},
                  .sequence_tokens_max = longest,
                  .step_rows_max = settings.step_rows_max,
                  .sequences_max = settings.sequences_max,
                  .accept = settings.speculative ? settings.speculative->accept : settings.accept,
                  .draft = std::nullopt};
  plan.cache.block_count = settings.cache_tokens
                               ? cache::blocks_for(*settings.cache_tokens, settings.block_tokens)
                               : settings.sequences_max * cache::blocks_for(longest, settings.block_tokens);
  if (settings.speculative) plan.draft = derive_draft_plan(settings, plan, drafter, inspector);
  if (!inspector.clean()) return std::move(inspector).refuse();
  return plan;
}

}  // namespace outrider::engine
