// Against tests/data/plan/numbers.json: weights per rank and key-value bytes of published models.
#include "plan/bytes.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"

namespace outrider::plan {
namespace {

using base::Json;

Json read_json(const std::string& path) {
  const auto text = base::read_text_file(path);
  auto parsed = base::parse_json(*text, path);
  return std::move(parsed).value();
}
const Json& numbers() {
  static const Json tree = read_json(OUTRIDER_TEST_DATA "/plan/numbers.json");
  return tree;
}
checkpoint::Facts facts_of(const std::string& model) {
  const Json config = read_json(OUTRIDER_TEST_DATA "/plan/configs/" + model + "/config.json");
  auto facts = checkpoint::parse_facts(config, "config.json");
  EXPECT_TRUE(facts.ok()) << model;
  return std::move(facts).value();
}
std::int64_t integer(const Json& tree, const char* key) { return *tree.find(key)->integer(); }
bool flag(const Json& tree, const char* key) { return *tree.find(key)->boolean(); }

struct Case {
  const Json& item;
  checkpoint::Facts facts;
  ParallelShape shape;
  WeightSpread target, draft;
  bool with_draft;
};

Case read_case(const Json& item) {
  const ParallelShape shape{.dp = integer(item, "dp"), .pp = integer(item, "pp"), .tp = integer(item, "tp")};
  std::vector<std::int64_t> split;
  for (const Json& layers : *item.find("layers_per_stage")->array()) split.push_back(*layers.integer());
  const bool ep = flag(item, "ep");
  WeightSpread spread{.tensor = shape.tp,
                      .layers_per_stage = split,
                      .expert_parallel = ep,
                      .expert_ranks = ep ? shape.expert_ranks() : 1,
                      .redundant = integer(item, "redundant"),
                      .slot_rows = {}};
  WeightSpread draft = spread;
  draft.redundant = integer(item, "draft_redundant");
  return {.item = item,
          .facts = facts_of(*item.find("model")->string()),
          .shape = shape,
          .target = spread,
          .draft = draft,
          .with_draft = flag(item, "draft")};
}

void check_rank(const Case& test, std::int64_t rank, const Json& expected, std::int64_t& sum) {
  const Coordinates at = coordinates_of(test.shape, rank);
  const std::int64_t expert_rank = test.target.expert_parallel ? at.dp * test.shape.tp + at.tp : 0;
  const WeightBytes bytes = weight_bytes(test.facts, test.target, at.stage, expert_rank, false);
  std::int64_t draft = 0;
  if (test.with_draft && at.stage == test.shape.pp - 1)
    draft = weight_bytes(test.facts, test.draft, at.stage, expert_rank, true).total();
  const std::string where = *test.item.find("model")->string() + " rank " + std::to_string(rank);
  EXPECT_EQ(bytes.other, integer(expected, "target")) << where;
  EXPECT_EQ(bytes.experts, integer(expected, "experts")) << where;
  EXPECT_EQ(bytes.redundant, integer(expected, "redundant")) << where;
  EXPECT_EQ(bytes.tied_copy, integer(expected, "tied_copy")) << where;
  EXPECT_EQ(draft, integer(expected, "draft")) << where;
  sum += bytes.total() + draft;
}

TEST(Bytes, WeightsOfEveryRankAreThoseOfTheGoldenData) {
  const Json::Array& cases = *numbers().find("per_rank_weights")->array();
  ASSERT_GT(cases.size(), 35u);
  for (const Json& item : cases) {
    const Case test = read_case(item);
    std::int64_t sum = 0;
    for (const Json& group : *item.find("per_rank")->array()) {
      const Json::Array& range = *group.find("ranks")->array();
      for (std::int64_t rank = *range[0].integer(); rank <= *range[1].integer(); ++rank)
        check_rank(test, rank, *group.find("bytes"), sum);
    }
    EXPECT_EQ(sum, integer(item, "sum_over_ranks"));
    const std::int64_t disk = placed_bytes_on_disk(test.facts, false) +
                              (test.with_draft ? placed_bytes_on_disk(test.facts, true) : 0);
    EXPECT_EQ(disk, integer(item, "bytes_on_disk")) << *item.find("model")->string();
    const Json* excluded = item.find("excluded_bytes");
    EXPECT_EQ(unplaced_bytes(test.facts), excluded == nullptr ? 0 : *excluded->integer());
  }
}

TEST(Bytes, KeysAndValuesOfEveryRankAreThoseOfTheGoldenData) {
  const Json::Array& cases = *numbers().find("kv_bytes")->array();
  ASSERT_GT(cases.size(), 10u);
  for (const Json& item : cases) {
    const checkpoint::Facts facts = facts_of(*item.find("model")->string());
    const KvSpread spread{
        .tensor = integer(item, "tp"),
        .context = {.shards = integer(item, "dcp"), .interleave = integer(item, "interleave")},
        .element_bytes = integer(item, "bytes_per_element"),
        .latent_row_bytes = std::nullopt,
        .layer_count = facts.model.layer_count};
    const Json::Array& ranks = *item.find("bytes_per_rank")->array();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto shard = static_cast<std::int64_t>(rank) % spread.context.shards;
      const KvBytes bytes = kv_bytes(facts.model.kv, spread, shard, integer(item, "tokens"));
      EXPECT_EQ(bytes.per_token, integer(item, "bytes_per_token_one_rank")) << item.excerpt();
      EXPECT_EQ(bytes.sequence, *ranks[rank].integer()) << item.excerpt();
    }
  }
}

}  // namespace
}  // namespace outrider::plan
