// A plan's values arrive as they are: engine plans of small pairs against the numbers of their shapes, and
// what the planner counts against what is then there.
#include "engine/derive_engine_plan.h"

#include <gtest/gtest.h>

#include "checkpoint/open_model.h"
#include "engine/engine.h"

namespace outrider::engine {
namespace {

const std::string kTarget = std::string(OUTRIDER_MODELS) + "/sprout";
const std::string kDrafter = std::string(OUTRIDER_MODELS) + "/sprout-dspark";

template <class T>
T take(base::Result<T> result) {
  OUTRIDER_CHECK_MSG(result.ok(), result.ok() ? "" : base::to_string(result.error()));
  return std::move(result).value();
}

struct Pair {
  checkpoint::OpenedModel target;
  checkpoint::OpenedDrafter drafter;
  plan::ModelsFacts facts;
};

Pair open_pair() {
  Pair pair{.target = take(checkpoint::open_model(kTarget, {}, nullptr)), .drafter = {}, .facts = {}};
  pair.drafter = take(checkpoint::open_drafter(kDrafter, pair.target.shape, {}, nullptr));
  pair.facts.target = take(checkpoint::parse_facts(pair.target.config, kTarget));
  pair.facts.draft = take(checkpoint::parse_facts(pair.drafter.config, kDrafter));
  return pair;
}

plan::Intent intent_of_pair() {
  plan::Intent intent;
  intent.use = plan::Use::Generate;
  intent.model = kTarget;
  intent.draft.emplace();
  intent.draft->model = kDrafter;
  return intent;
}

plan::Plan planned(const plan::Intent& intent, const Pair& pair) {
  plan::Machine machine;
  machine.cores = 3;
  machine.kernel_targets = {{"reference"}};
  auto plan = plan::plan(intent, pair.facts, machine);
  OUTRIDER_CHECK_MSG(plan.ok(), plan.ok() ? "" : plan.error().problems.front().message);
  return std::move(*plan);
}

TEST(DeriveEnginePlan, TakesWhatThePlanHasAndNothingElse) {
  const Pair pair = open_pair();
  plan::Intent intent = intent_of_pair();
  intent.target.max_model_len = 100;
  intent.target.max_num_seqs = 3;
  intent.target.block_size = 8;
  intent.target.dtype = "float32";
  intent.target.quantization = "int8";
  intent.draft->num_speculative_tokens = 9;
  intent.draft->quantization = "int4";
  intent.draft->kv_cache_dtype = "bfloat16";
  intent.draft->draft_sample_method = "probabilistic";
  intent.draft->rejection_sample_method = "drafter_invariant";
  intent.draft->confidence_threshold = 0.25;
  const EnginePlan made = derive_engine_plan(planned(intent, pair), pair.target.shape, pair.drafter.shape);
  EXPECT_EQ(made.target, kernels::Target::Reference);
  EXPECT_EQ(made.thread_count, 3);
  EXPECT_EQ(made.arithmetic, kernels::Arithmetic::Float32);
  EXPECT_EQ(made.quantization, kernels::WeightFormat::Int8);
  EXPECT_EQ(made.cache.dtype, kernels::KvDtype::F32);
  EXPECT_EQ(made.cache.block_tokens, 8);
  EXPECT_EQ(made.cache.block_count, 3 * 13);  // 100 tokens are 13 blocks of 8
  EXPECT_EQ(made.sequence_tokens_max, 100);
  EXPECT_EQ(made.accept, decode::AcceptMethod::DrafterInvariant);
  ASSERT_TRUE(made.draft.has_value());
  EXPECT_EQ(made.draft->quantization, kernels::WeightFormat::Int4);
  EXPECT_EQ(made.draft->confidence_threshold, 0.25);
  const auto& block = std::get<draft::BlockPlan>(made.draft->drafter);
  EXPECT_EQ(block.draft_tokens, 9);
  EXPECT_EQ(block.block_slots, 9);  // sprout's was trained with 7
  EXPECT_EQ(block.method, decode::DraftSampleMethod::Probabilistic);
  EXPECT_EQ(block.accept, decode::AcceptMethod::DrafterInvariant);
  EXPECT_EQ(block.cache.dtype, kernels::KvDtype::Bf16);
  EXPECT_EQ(block.cache.block_count, 39 + 3 * 3);  // 9 rows touch up to 3 blocks of 8
  EXPECT_EQ(block.position_count, 100 + 9);
}

TEST(DeriveEnginePlan, HoldsWhatPromptLookupAndForcedAcceptanceWereGiven) {
  const Pair pair = open_pair();
  plan::Intent intent = intent_of_pair();
  intent.use = plan::Use::Bench;
  intent.draft->model.reset();
  intent.draft->method = "ngram";
  intent.draft->prompt_lookup_max = 3;
  intent.draft->rejection_sample_method = "synthetic";
  intent.draft->synthetic_acceptance_length = 2.5;
  const EnginePlan made = derive_engine_plan(planned(intent, pair), pair.target.shape, std::nullopt);
  const draft::NgramPlan expected{.lookup_max = 3, .lookup_min = 1, .draft_tokens = 5};
  EXPECT_EQ(std::get<draft::NgramPlan>(made.draft->drafter), expected);
  EXPECT_EQ(made.draft->accept.method, decode::AcceptMethod::Synthetic);
  EXPECT_EQ(made.draft->accept.synthetic_rates, (std::vector<double>{1, 0.5, 0, 0, 0}));
}

TEST(DeriveEnginePlan, ThePlansBytesAreThoseOfTheLoadedWeightsAndCaches) {
  const Pair pair = open_pair();
  for (const char* format : {"", "int8", "int4"}) {
    plan::Intent intent = intent_of_pair();
    intent.target.max_model_len = 256;
    if (*format != 0) intent.target.quantization = intent.draft->quantization = format;
    const plan::Plan plan = planned(intent, pair);
    EnginePlan made = derive_engine_plan(plan, pair.target.shape, pair.drafter.shape);
    const auto& block = std::get<draft::BlockPlan>(made.draft->drafter);
    const auto positions = made.cache.block_count * made.cache.block_tokens;
    const auto draft_positions = block.cache.block_count * block.cache.block_tokens;
    const std::int64_t caches =
        made.cache.bytes_per_token() * positions + block.cache.bytes_per_token() * draft_positions;
    const auto engine = take(Engine::open(made, *pair.target.weights, pair.drafter.weights.get()));
    const std::int64_t weights = engine->model().weight_bytes() + engine->drafter()->weight_bytes();
    // Behind the allowance for buffers, which has 64 MiB for the program.
    const auto counted = static_cast<double>(plan.ranks.front().bytes.resident - (64 << 20));
    const auto there = static_cast<double>(weights + caches);
    EXPECT_GE(counted, there * 0.97) << format;
    EXPECT_LE(counted, there * 1.2 + (64 << 20)) << format;
  }
}

}  // namespace
}  // namespace outrider::engine
