// Random intents: plan() always ends with a plan or with problems, gives the same answer twice, and its plans
// hold together.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/mapped_file.h"
#include "checkpoint/facts.h"
#include "plan/bytes.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using base::Json;

checkpoint::Facts facts_of(const std::string& model) {
  const std::string path = OUTRIDER_TEST_DATA "/plan/configs/" + model + "/config.json";
  const auto text = base::read_text_file(path);
  auto parsed = base::parse_json(*text, path);
  auto facts = checkpoint::parse_facts(*parsed, "config.json",
                                       {.tensor_names = {}, .as_draft_model = model == "qwen3-0.6b"});
  EXPECT_TRUE(facts.ok()) << model;
  return std::move(facts).value();
}

struct Pair {
  ModelsFacts facts;
  std::string method;
  bool own_file;
};
const std::vector<Pair>& pairs() {
  static const std::vector<Pair> kPairs = [] {
    std::vector<Pair> all;
    const auto add = [&](const char* target, const char* draft, const char* method) {
      all.push_back({.facts = {.target = facts_of(target), .draft = std::nullopt},
                     .method = method,
                     .own_file = draft != nullptr});
      if (draft != nullptr) all.back().facts.draft = facts_of(draft);
    };
    add("qwen3-8b", "dspark-qwen3-8b-block7", "dspark");
    add("qwen3-30b-a3b", "dflash-qwen3-30b-a3b", "dflash");
    add("llama-3.1-8b", "eagle3-llama-3.1-8b", "eagle3");
    add("qwen3-32b", "qwen3-0.6b", "draft_model");
    add("kimi-k3", "k3-dspark-mla", "dspark");
    add("deepseek-v3", nullptr, "mtp");
    add("deepseek-v4.1-flash", nullptr, "dspark");
    add("deepseek-v4-flash-dspark", nullptr, "dspark");
    add("qwen3.5-35b-a3b", nullptr, "mtp");
    add("gemma-4-26b-a4b", nullptr, "ngram");
    return all;
  }();
  return kPairs;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

std::int64_t size_from(Dice& dice, bool wild) {
  if (wild && dice.one_in(3))
    return dice.pick<std::int64_t>({-1, 0, 3, 6, 7, 64, 4096, 1 << 21, INT64_MAX, INT64_MIN, 5});
  return dice.pick<std::int64_t>({1, 2, 4, 8});
}

void set(Dice& dice, std::optional<std::int64_t>& member, std::uint64_t rarity, bool wild) {
  if (dice.one_in(rarity)) member = size_from(dice, wild);
}
void set(Dice& dice, std::optional<bool>& member, std::uint64_t rarity) {
  if (dice.one_in(rarity)) member = !dice.one_in(4);
}

EplbFile random_file(Dice& dice, const ModelsFacts& facts) {
  EplbFile file;
  if (!dice.one_in(6)) file.num_slots = dice.pick<std::int64_t>({128, 256, 384, 392, 400, 130, 1, INT64_MAX});
  if (dice.one_in(2)) file.layer_updates_per_iter = dice.pick<std::int64_t>({0, 2, -1});
  if (dice.one_in(2)) return file;
  file.assignments.emplace();
  const std::int64_t layers =
      dice.below(2) == 0 ? facts.target.model.layer_count : static_cast<std::int64_t>(dice.below(70));
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::int64_t> row;
    const std::int64_t length =
        dice.one_in(9) ? 5 : std::clamp<std::int64_t>(file.num_slots.value_or(128), 0, 400);
    for (std::int64_t slot = 0; slot < length; ++slot) row.push_back(dice.one_in(400) ? -3 : slot % 128);
    file.assignments->emplace_back(layer, std::move(row));
  }
  return file;
}

AskedDraft random_draft(Dice& dice, const Pair& pair, bool wild) {
  AskedDraft draft;
  draft.method = wild && dice.one_in(6)
                     ? dice.pick<std::string>({"mtp", "ngram", "dspark", "eagle3", "nonsense", "pard"})
                     : pair.method;
  if (pair.own_file || (wild && dice.one_in(8))) draft.model = "drafter";
  if (wild && dice.one_in(9)) draft.model.reset();
  if (!wild || !dice.one_in(4))
    draft.num_speculative_tokens = wild && dice.one_in(4) ? size_from(dice, true) : 3;
  set(dice, draft.draft_tensor_parallel_size, wild ? 3 : 8, wild);
  set(dice, draft.max_model_len, 8, wild);
  if (!wild) draft.max_model_len.reset();
  if (!wild) return draft;
  set(dice, draft.decode_context_parallel_size, 8, wild);
  set(dice, draft.pipeline_parallel_size, 8, wild);
  set(dice, draft.enable_expert_parallel, 6);
  set(dice, draft.dspark_draft_topk, 9, wild);
  if (dice.one_in(8))
    draft.moe_backend = dice.pick<std::string>({"marlin", "triton", "auto", "deep_gemm_mega_moe"});
  if (dice.one_in(8)) draft.kv_cache_dtype = dice.pick<std::string>({"auto", "fp8_ds_mla", "nvfp4"});
  if (dice.one_in(8)) draft.rejection_sample_method = dice.pick<std::string>({"standard", "synthetic"});
  if (dice.one_in(8)) draft.synthetic_acceptance_length = dice.pick<double>({0.5, 2.0, 1e300});
  set(dice, draft.enable_adaptive_verification, 6);
  return draft;
}

Intent random_intent(Dice& dice, const Pair& pair, bool wild) {
  Intent intent;
  intent.engine = wild ? dice.pick({Engine::Outrider, Engine::Vllm, Engine::Trtllm})
                       : dice.pick({Engine::Outrider, Engine::Vllm});
  intent.model = "target";
  AskedTarget& target = intent.target;
  set(dice, target.tensor_parallel_size, 1, wild);
  set(dice, target.pipeline_parallel_size, 3, wild);
  set(dice, target.data_parallel_size, 3, wild);
  set(dice, target.decode_context_parallel_size, wild ? 3 : 6, wild);
  set(dice, target.enable_expert_parallel, 2);
  set(dice, target.enable_eplb, wild ? 3 : 8);
  if (dice.one_in(4)) target.max_model_len = dice.pick<std::int64_t>({1024, 4096, 32768});
  if (dice.one_in(wild ? 2 : 6)) intent.draft = random_draft(dice, pair, wild);
  if (!wild) {
    intent.draft = dice.one_in(2) ? std::optional(random_draft(dice, pair, false)) : std::nullopt;
    return intent;
  }
  set(dice, target.prefill_context_parallel_size, 6, wild);
  set(dice, target.data_parallel_size_local, 6, wild);
  set(dice, target.cp_kv_cache_interleave_size, 4, wild);
  set(dice, target.dcp_kv_cache_interleave_size, 8, wild);
  set(dice, target.block_size, 4, wild);
  set(dice, target.max_model_len, 4, wild);
  set(dice, target.max_num_batched_tokens, 6, wild);
  set(dice, target.enable_elastic_ep, 8);
  set(dice, intent.eplb.num_redundant_experts, 3, wild);
  set(dice, intent.eplb.step_interval, 6, wild);
  set(dice, intent.eplb.window_size, 6, wild);
  if (dice.one_in(6)) target.dcp_comm_backend = "a2a";
  if (dice.one_in(6)) target.moe_backend = dice.pick<std::string>({"marlin", "deep_gemm_mega_moe", "triton"});
  if (dice.one_in(6)) target.kv_cache_dtype = dice.pick<std::string>({"fp8_ds_mla", "fp8", "nvfp4"});
  if (dice.one_in(6))
    target.load_format =
        dice.pick<std::string>({"fastsafetensors", "instanttensor", "tensorizer", "collective"});
  if (dice.one_in(6))
    intent.pp_layer_partition =
        dice.pick<std::string>({"20,20,21", "1", "", ",", "9999999999999999999", "0,0", "a,b"});
  if (dice.one_in(4)) {
    intent.eplb_draft.emplace();
    set(dice, intent.eplb_draft->num_redundant_experts, 2, wild);
  }
  if (dice.one_in(6)) intent.eplb_file = random_file(dice, pair.facts);
  return intent;
}

void check_problems(const PlanRefusal& refusal) {
  ASSERT_FALSE(refusal.problems.empty());
  for (const Problem& problem : refusal.problems) {
    EXPECT_NE(find_rule(problem.rule), nullptr) << problem.rule;
    const bool role = problem.field.starts_with("target.") || problem.field.starts_with("draft.") ||
                      problem.field.starts_with("eplb.");
    EXPECT_TRUE(role) << problem.field;
    EXPECT_FALSE(problem.message.empty());
  }
}

TEST(PlanFuzz, AnyIntentGivesAPlanOrProblemsAndTheSameTwice) {
  Dice dice(20260101);
  int plans = 0, refusals = 0;
  std::set<std::string> rules;
  for (int i = 0; i < 8000; ++i) {
    const Pair& pair = pairs()[dice.below(pairs().size())];
    const Intent intent = random_intent(dice, pair, true);
    const Machine machine{.nodes = 1,
                          .devices_per_node = dice.one_in(3)
                                                  ? std::optional<std::int64_t>(size_from(dice, true))
                                                  : std::nullopt};
    const auto first = plan(intent, pair.facts, machine), second = plan(intent, pair.facts, machine);
    ASSERT_EQ(first.ok(), second.ok());
    if (first.ok()) {
      ++plans;
      EXPECT_TRUE(*first == *second);
      EXPECT_EQ(first->ranks.size(), static_cast<std::size_t>(first->target.layout.world_size));
    } else {
      ++refusals;
      EXPECT_TRUE(first.error() == second.error());
      check_problems(first.error());
      for (const Problem& problem : first.error().problems) rules.insert(problem.rule);
    }
  }
  EXPECT_GT(plans, 100);  // or it would prove little
  EXPECT_GT(refusals, 1000);
  EXPECT_GT(rules.size(), 35u);
}

// --- properties of plans ---
void check_layers(const Plan& plan, std::int64_t layers) {
  std::vector<int> owners(static_cast<std::size_t>(layers), 0);
  for (const RankPlan& rank : plan.ranks) {
    for (std::int64_t i = 0; i < rank.layer_count; ++i)
      ++owners.at(static_cast<std::size_t>(rank.first_layer + i));
  }
  const std::int64_t stage_ranks =
      plan.target.layout.world_size / plan.target.settings.pipeline_parallel_size;
  for (const int count : owners) EXPECT_EQ(count, stage_ranks);
}

void check_experts(const Plan& plan, const Pair& pair) {
  const auto& moe = pair.facts.target.model.moe;
  if (!moe || !plan.target.settings.enable_expert_parallel) return;
  for (std::int64_t stage = 0; stage < plan.target.settings.pipeline_parallel_size; ++stage) {
    std::set<std::int64_t> homes;
    bool any = false;
    for (const RankPlan& rank : plan.ranks) {
      if (rank.stage != stage) continue;
      any |= !rank.experts.empty();
      homes.insert(rank.experts.begin(), rank.experts.end());
    }
    if (any) {
      EXPECT_EQ(homes.size(), static_cast<std::size_t>(moe->experts));
    }
  }
}

void check_groups(const Plan& plan) {
  for (const RankPlan& rank : plan.ranks) {
    for (const auto* group :
         {&rank.tp_group, &rank.pp_group, &rank.dp_group, &rank.ep_group, &rank.dcp_group}) {
      EXPECT_EQ(std::count(group->begin(), group->end(), rank.rank), 1);
      for (const std::int64_t member : *group) EXPECT_LT(member, plan.target.layout.world_size);
    }
    EXPECT_EQ(rank.dcp_group.size(),
              static_cast<std::size_t>(plan.target.settings.decode_context_parallel_size));
  }
}

void check_policies(const Plan& plan) {
  if (!plan.draft || !plan.draft->role) return;
  std::vector<Json> target;
  base::for_each_field(plan.target.settings,
                       [&](const auto&, const auto& value) { target.push_back(base::json_of(value)); });
  std::size_t at = 0;
  base::for_each_field(plan.draft->role->settings, [&](const auto& field, const auto& value) {
    const Json& theirs = target[at++];
    if (field.note.policy == Policy::Inherit) {
      EXPECT_EQ(base::json_of(value), theirs) << field.name;
    }
  });
  const RoleSettings& draft = plan.draft->role->settings;
  EXPECT_EQ(draft.pipeline_parallel_size, 1);
  EXPECT_FALSE(draft.enable_elastic_ep);
  if (!draft.enable_eplb) {
    EXPECT_EQ(draft.num_redundant_experts, 0);
  }
  if (draft.decode_context_parallel_size == 1) {
    EXPECT_EQ(draft.dcp_comm_backend, "ag_rs");
  }
}

TEST(PlanFuzz, PlansOfValidIntentsHoldTogether) {
  Dice dice(7);
  int plans = 0;
  for (int i = 0; i < 1500; ++i) {
    const Pair& pair = pairs()[dice.below(pairs().size())];
    const Intent intent = random_intent(dice, pair, false);
    const auto result = plan(intent, pair.facts, {});
    if (!result.ok()) continue;
    ++plans;
    check_layers(*result, pair.facts.target.model.layer_count);
    check_experts(*result, pair);
    check_groups(*result);
    check_policies(*result);
    std::int64_t sum = 0;
    for (const RankPlan& rank : result->ranks) {
      const RankBytes& bytes = rank.bytes;
      EXPECT_EQ(bytes.total, bytes.target + bytes.experts + bytes.redundant + bytes.draft + bytes.tied_copy);
      sum += bytes.total;
    }
    EXPECT_EQ(sum, result->bytes.sum_over_ranks);
    EXPECT_EQ(sum - result->bytes.bytes_on_disk, result->bytes.replica_bytes);
    EXPECT_GE(result->bytes.replica_bytes, 0);
    EXPECT_EQ(result->fingerprint.size(), 16u);
  }
  EXPECT_GT(plans, 300);
}

TEST(PlanFuzz, OneFieldMadeWrongYieldsTheProblemOfThatField) {
  Dice dice(11);
  int broken = 0;
  for (int i = 0; i < 600; ++i) {
    const Pair& pair = pairs()[dice.below(pairs().size())];
    Intent intent = random_intent(dice, pair, false);
    if (!plan(intent, pair.facts, {}).ok()) continue;
    std::string field;
    switch (dice.below(8)) {
      case 0:
        intent.target.tensor_parallel_size = 0, field = "target.tensor_parallel_size";
        break;
      case 1:
        intent.target.tensor_parallel_size = 7, field = "target.tensor_parallel_size";
        break;
      case 2:
        intent.target.pipeline_parallel_size = 1000, field = "target.pipeline_parallel_size";
        break;
      case 3:
        intent.target.block_size = -1, field = "target.block_size";
        break;
      case 4:
        intent.target.max_model_len = std::int64_t{1} << 30, field = "target.max_model_len";
        break;
      case 5:
        intent.eplb.window_size = 0, field = "target.eplb_config.window_size";
        break;
      case 6:
        intent.target.data_parallel_size_local = 4096, field = "target.data_parallel_size_local";
        break;
      default:
        intent.target.dcp_comm_backend = "a2a", intent.target.decode_context_parallel_size = 1,
        field = "target.dcp_comm_backend";
        break;
    }
    const auto result = plan(intent, pair.facts, {});
    if (field == "target.max_model_len" && !pair.facts.target.model.positions_max) continue;
    ASSERT_FALSE(result.ok()) << field;
    const auto& problems = result.error().problems;
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
      return problem.field == field;
    })) << field;
    ++broken;
  }
  EXPECT_GT(broken, 100);
}

TEST(PlanFuzz, TheFingerprintTellsPlansApart) {
  const Pair& pair = pairs()[0];
  Intent intent;
  intent.target.tensor_parallel_size = 4;
  const auto first = plan(intent, pair.facts, {});
  intent.target.max_model_len = 8192;
  const auto second = plan(intent, pair.facts, {});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->fingerprint, second->fingerprint);
}

}  // namespace
}  // namespace outrider::plan
