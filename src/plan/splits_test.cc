// Against tests/data/plan/numbers.json: splits, groups, expert maps, context lengths.
#include "plan/splits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/mapped_file.h"

namespace outrider::plan {
namespace {

using base::Json;

const Json& numbers() {
  static const Json tree = [] {
    const auto text = base::read_text_file(OUTRIDER_TEST_DATA "/plan/numbers.json");
    auto parsed = base::parse_json(*text, "numbers.json");
    return std::move(parsed).value();
  }();
  return tree;
}
const Json& at(const Json& tree, const char* key) {
  const Json* found = tree.find(key);
  EXPECT_NE(found, nullptr) << key;
  return *found;
}
std::int64_t integer(const Json& tree, const char* key) { return *at(tree, key).integer(); }
const Json::Array& list(const Json& tree, const char* key) { return *at(tree, key).array(); }
std::vector<std::int64_t> integers(const Json& tree) {
  std::vector<std::int64_t> values;
  for (const Json& item : *tree.array()) values.push_back(*item.integer());
  return values;
}

TEST(Splits, LayersOverStagesAreThoseOfTheGoldenData) {
  const Json::Array& cases = list(at(numbers(), "pipeline_splits"), "cases");
  ASSERT_GT(cases.size(), 20u);
  for (const Json& item : cases) {
    const auto split = split_layers(integer(item, "layers"), integer(item, "pp"));
    EXPECT_EQ(split, integers(at(item, "split"))) << item.excerpt();
    const auto starts = integers(at(item, "start"));
    for (std::size_t stage = 0; stage < starts.size(); ++stage) {
      EXPECT_EQ(stage_of_layer(split, starts[stage]), static_cast<std::int64_t>(stage));
    }
  }
}

TEST(Splits, RankGroupsAreThoseOfTheGoldenData) {
  const Json::Array& cases = list(numbers(), "rank_groups");
  ASSERT_EQ(cases.size(), 9u);
  for (const Json& item : cases) {
    const ParallelShape shape{.dp = integer(item, "dp"),
                              .pp = integer(item, "pp"),
                              .pcp = integer(item, "pcp"),
                              .tp = integer(item, "tp"),
                              .dcp = integer(item, "dcp")};
    ASSERT_EQ(shape.world(), integer(item, "world"));
    const auto check = [&](const char* key, auto pick) {
      std::int64_t seen = 0;
      for (const Json& group : list(item, key)) {
        const auto members = integers(group);
        for (const std::int64_t rank : members) {
          EXPECT_EQ(pick(groups_of(shape, rank)), members) << key << " of rank " << rank;
          ++seen;
        }
      }
      EXPECT_EQ(seen, shape.world()) << key;
    };
    check("tp_groups", [](const RankGroups& groups) { return groups.tp; });
    check("pp_groups", [](const RankGroups& groups) { return groups.pp; });
    check("dp_groups", [](const RankGroups& groups) { return groups.dp; });
    check("ep_groups", [](const RankGroups& groups) { return groups.ep; });
    check("dcp_groups", [](const RankGroups& groups) { return groups.dcp; });
    EXPECT_EQ(ranks_of_stage(shape, shape.pp - 1), integers(at(item, "draft_ranks_on_last_stage")));
  }
}

TEST(Splits, CoordinatesAndRanksAreInverse) {
  const ParallelShape shape{.dp = 3, .pp = 2, .pcp = 2, .tp = 4, .dcp = 2};
  for (std::int64_t rank = 0; rank < shape.world(); ++rank)
    EXPECT_EQ(rank_at(shape, coordinates_of(shape, rank)), rank);
}

TEST(Splits, ExpertMapsAreThoseOfTheGoldenData) {
  const Json& maps = at(numbers(), "expert_maps");
  for (const Json& item : list(maps, "plain")) {
    const ExpertSplit split{.experts = integer(item, "E"),
                            .ranks = integer(item, "ep"),
                            .round_robin = *at(item, "strategy").string() == "round_robin"};
    const Json::Array& ranks = list(item, "ranks");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(experts_of_rank(split, static_cast<std::int64_t>(rank)), integers(ranks[rank]))
          << item.excerpt();
    }
  }
  for (const Json& item : list(maps, "redundant")) {
    const ExpertSplit split{
        .experts = integer(item, "E"), .redundant = integer(item, "R"), .ranks = integer(item, "ep")};
    const Json::Array& ranks = list(item, "ranks");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(experts_of_rank(split, static_cast<std::int64_t>(rank)), integers(ranks[rank]))
          << item.excerpt();
    }
  }
}

TEST(Splits, NearestRedundantCountsDivideAndAreNearest) {
  for (const Json& item : list(numbers(), "expert_divisibility")) {
    const std::int64_t experts = integer(item, "E"), redundant = integer(item, "R"),
                       ranks = integer(item, "ep");
    EXPECT_EQ((experts + redundant) % ranks == 0, *at(item, "ok").boolean()) << item.excerpt();
    EXPECT_EQ(nearest_redundant(experts, 0, ranks).above, integer(item, "smallest_redundant"))
        << item.excerpt();
  }
  for (std::int64_t experts = 1; experts < 40; ++experts) {  // against a search
    for (std::int64_t redundant = 0; redundant < 20; ++redundant) {
      for (std::int64_t ranks = 1; ranks < 12; ++ranks) {
        std::int64_t above = redundant, below = redundant - 1;
        while ((experts + above) % ranks != 0) ++above;
        while (below >= 0 && (experts + below) % ranks != 0) --below;
        const NearestRedundant nearest = nearest_redundant(experts, redundant, ranks);
        EXPECT_EQ(nearest.above, above);
        EXPECT_EQ(nearest.below, below < 0 ? -1 : below) << experts << " " << redundant << " " << ranks;
      }
    }
  }
}

TEST(Splits, ElasticChangesOfRedundancyAreThoseOfTheGoldenData) {
  for (const Json& item : list(numbers(), "elastic_redundancy")) {
    EXPECT_EQ(scaled_redundant(integer(item, "E"), integer(item, "R"), integer(item, "from_ranks"),
                               integer(item, "to_ranks")),
              integer(item, "new_redundant"));
  }
}

TEST(Splits, ContextLengthsAndSlotsAreThoseOfTheGoldenData) {
  const Json& dcp = at(numbers(), "dcp");
  for (const Json& item : list(dcp, "local_lens")) {
    const ContextSplit split{.shards = integer(item, "D"), .interleave = integer(item, "I")};
    for (const Json& entry : list(item, "lens")) {
      const std::int64_t length = *(*entry.array())[0].integer();
      const auto expected = integers((*entry.array())[1]);
      for (std::size_t shard = 0; shard < expected.size(); ++shard) {
        EXPECT_EQ(local_length(split, static_cast<std::int64_t>(shard), length), expected[shard])
            << item.excerpt() << length;
      }
    }
  }
  for (const Json& item : list(dcp, "slots")) {
    const ContextSplit split{
        .shards = integer(item, "D"), .interleave = integer(item, "I"), .block = integer(item, "B")};
    const auto owner = integers(at(item, "owner")), slot = integers(at(item, "local_slot"));
    for (std::size_t position = 0; position < owner.size(); ++position) {
      EXPECT_EQ(owner_of(split, static_cast<std::int64_t>(position)), owner[position]);
      EXPECT_EQ(local_slot_of(split, static_cast<std::int64_t>(position)), slot[position]);
    }
  }
  for (const Json& item : list(dcp, "verify")) {
    const ContextSplit split{.shards = integer(item, "D"), .interleave = integer(item, "I")};
    const Json::Array& rows = list(item, "local_len_per_query");
    for (std::size_t query = 0; query < rows.size(); ++query) {
      const auto expected = integers(rows[query]);
      for (std::size_t shard = 0; shard < expected.size(); ++shard) {
        EXPECT_EQ(local_length(split, static_cast<std::int64_t>(shard),
                               integer(item, "H") + static_cast<std::int64_t>(query) + 1),
                  expected[shard]);
      }
    }
  }
}

TEST(Splits, BlockTablesGiveTheSlotsOfTheGoldenData) {
  for (const Json& item : list(at(numbers(), "dcp"), "block_table_slots")) {
    const ContextSplit split{
        .shards = integer(item, "D"), .interleave = integer(item, "I"), .block = integer(item, "B")};
    const auto table = integers(at(item, "block_table"));
    const Json::Array& ranks = list(item, "slot_or_minus_1");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto expected = integers(ranks[rank]);
      for (std::size_t position = 0; position < expected.size(); ++position) {
        const auto p = static_cast<std::int64_t>(position);
        const std::int64_t local = local_slot_of(split, p);
        const std::int64_t slot =
            table[static_cast<std::size_t>(local / split.block)] * split.block + local % split.block;
        EXPECT_EQ(owner_of(split, p) == static_cast<std::int64_t>(rank) ? slot : -1, expected[position]);
      }
    }
  }
}

TEST(Splits, SharesOfAContextMergeAsTheGoldenDataSays) {
  const Json::Array& cases = list(at(numbers(), "lse_merge"), "cases");
  ASSERT_EQ(cases.size(), 3u);
  for (const Json& item : cases) {
    std::vector<ContextShare> shares;
    for (std::size_t i = 0; i < list(item, "lse").size(); ++i) {
      const Json& lse = list(item, "lse")[i];
      ContextShare share{.lse = lse.is_null() ? -HUGE_VAL : *lse.number(), .out = {}};
      // What a shard without tokens holds is anything.
      for (const Json& value : *list(item, "out")[i].array())
        share.out.push_back(lse.is_null() ? std::nan("") : *value.number());
      shares.push_back(std::move(share));
    }
    const ContextShare merged = merge_shares(shares);
    EXPECT_NEAR(merged.lse, *at(item, "merged_lse").number(), 1e-6) << item.excerpt();
    for (std::size_t i = 0; i < merged.out.size(); ++i)
      EXPECT_NEAR(merged.out[i], *list(item, "merged")[i].number(), 1e-6) << item.excerpt();
    // In any order, and pair by pair, it is the same.
    ContextShare rest = shares.back();
    for (std::size_t i = shares.size() - 1; i-- > 0;) rest = merge_shares({shares[i], rest});
    EXPECT_NEAR(rest.lse, merged.lse, 1e-12);
    for (std::size_t i = 0; i < merged.out.size(); ++i) EXPECT_NEAR(rest.out[i], merged.out[i], 1e-12);
  }
  const ContextShare none = merge_shares({{.lse = -HUGE_VAL, .out = {7}}, {.lse = -HUGE_VAL, .out = {8}}});
  EXPECT_EQ(none.lse, -HUGE_VAL);
  EXPECT_EQ(none.out, std::vector<double>{0});
}

TEST(Splits, RowsOfTheVocabularyAreThoseOfTheGoldenData) {
  const Json::Array& cases = list(numbers(), "vocabulary_rows");
  ASSERT_EQ(cases.size(), 12u);
  for (const Json& item : cases) {
    const auto rows = even_share(integer(item, "vocab"), integer(item, "tp"));
    EXPECT_EQ(rows.has_value(), *at(item, "divisible").boolean()) << item.excerpt();
    if (rows) {
      EXPECT_EQ(*rows, integer(item, "rows")) << item.excerpt();
    }
  }
}

}  // namespace
}  // namespace outrider::plan
