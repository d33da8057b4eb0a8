#include <gtest/gtest.h>

#include "checkpoint/config_test_support.h"
#include "checkpoint/drafter_reader.h"
#include "checkpoint/hf_config.h"

namespace outrider::checkpoint {
namespace {

using base::Json;

struct Case {
  std::string path;  // "dspark/ds_vanilla_g7"
  Json config, golden;
  std::map<std::string, HeaderEntry> file;
  int target_layers;
};
std::vector<Case> golden_cases() {
  std::vector<Case> cases;
  for (const std::string family : {"dspark", "dflash"}) {
    for (const std::string& name : folders_of(family)) {
      const auto folder = test_data(family) / name;
      cases.push_back({.path = family + "/" + name,
                       .config = read_json(folder / "drafter/config.json"),
                       .golden = read_json(folder / "golden.json"),
                       .file = read_headers(folder / "drafter"),
                       .target_layers = static_cast<int>(
                           *read_json(folder / "target/config.json").find("num_hidden_layers")->integer())});
    }
  }
  return cases;
}
Case golden_case(const std::string& path) {
  for (Case& item : golden_cases()) {
    if (item.path == path) return std::move(item);
  }
  ADD_FAILURE() << path;
  return {};
}
base::Result<DrafterShape> parse(const Case& item) {
  return parse_drafter_shape(item.config, "config.json", names_of(item.file), item.target_layers);
}
std::string refusal_of(const Case& item) {
  const base::Result<DrafterShape> shape = parse(item);
  return shape.ok() ? "" : base::to_string(shape.error());
}
std::vector<int> integers(const Json& list) {
  std::vector<int> numbers;
  for (const Json& entry : *list.array()) numbers.push_back(static_cast<int>(*entry.integer()));
  return numbers;
}

TEST(DrafterConfig, EveryGoldenDrafterIsReadAsItsAuthorsRanIt) {
  const std::vector<Case> cases = golden_cases();
  ASSERT_EQ(cases.size(), 13u);
  for (const Case& item : cases) {
    SCOPED_TRACE(item.path);
    EXPECT_TRUE(is_drafter_config(item.config));
    const base::Result<DrafterShape> shape = parse(item);
    ASSERT_TRUE(shape.ok()) << base::to_string(shape.error());
    const bool anchor_first = *item.golden.find("layout")->string() == "anchor_first";
    EXPECT_EQ(shape->layout, anchor_first ? BlockLayout::AnchorFirst : BlockLayout::OnePlusN);
    EXPECT_EQ(shape->block_size, *item.golden.find("num_slots")->integer());
    EXPECT_EQ(shape->drafts_per_block(), *item.golden.find("num_drafts")->integer());
    EXPECT_EQ(shape->taps, integers(*item.golden.find("tap_layer_outputs")));
    EXPECT_EQ(shape->mask_token, *item.golden.find("mask_token_id")->integer());
    EXPECT_EQ(shape->layer_masks.size(), shape->backbone.layers.size());
    EXPECT_EQ(shape->own_embedding, item.file.contains("embed_tokens.weight"));
    EXPECT_EQ(shape->own_head, item.file.contains("lm_head.weight"));
  }
}

TEST(DrafterConfig, ExpectsExactlyTheTensorsOfEveryGoldenDrafter) {
  for (const Case& item : golden_cases()) {
    SCOPED_TRACE(item.path);
    const base::Result<DrafterShape> shape = parse(item);
    ASSERT_TRUE(shape.ok());
    std::size_t seen = 0;
    for (const TensorSpec& spec : expected_tensors(*shape)) {
      ASSERT_TRUE(item.file.contains(spec.name)) << spec.name;
      EXPECT_EQ(spec.shape, item.file.at(spec.name).shape) << spec.name;
      EXPECT_TRUE(!spec.dtype || tensor::name_of(*spec.dtype) == item.file.at(spec.name).dtype) << spec.name;
      ++seen;
    }
    EXPECT_EQ(seen, item.file.size());
  }
}

TEST(DrafterConfig, HeadsAreReadAsTheTableOfCasesSays) {
  const auto markov = [](const std::string& path) { return parse(golden_case(path))->markov; };
  EXPECT_EQ(markov("dspark/ds_vanilla_g7"), (MarkovShape{MarkovKind::Vanilla, 16}));
  EXPECT_EQ(markov("dspark/ds_gated_g4_own_embed"), (MarkovShape{MarkovKind::Gated, 12}));
  EXPECT_EQ(markov("dspark/sp_rnn_b7_fillin"), (MarkovShape{MarkovKind::Rnn, 12}));
  EXPECT_EQ(markov("dflash/deepspec_rank0_g7"), std::nullopt);
  EXPECT_EQ(markov("dflash/sp_b4_anchor"), std::nullopt);
  EXPECT_EQ(markov("dflash/zlab_b16"), std::nullopt);
  EXPECT_EQ(parse(golden_case("dspark/ds_gated_g4_own_embed"))->confidence,
            ConfidenceShape{.with_markov = false});
  EXPECT_EQ(parse(golden_case("dspark/ds_rnn_g16_moe"))->confidence, ConfidenceShape{.with_markov = true});
  EXPECT_EQ(parse(golden_case("dspark/ds_shared_embed_g7"))->confidence, std::nullopt);
  EXPECT_EQ(parse(golden_case("dspark/sp_vanilla_b7_reduced"))->draft_vocabulary, 60);
  EXPECT_EQ(parse(golden_case("dspark/sp_rnn_b7_fillin"))->draft_vocabulary, std::nullopt);
}

TEST(DrafterConfig, ADrafterOfAnMoeTargetIsDense) {
  const base::Result<DrafterShape> shape = parse(golden_case("dspark/ds_rnn_g16_moe"));
  for (const LayerShape& layer : shape->backbone.layers) EXPECT_EQ(std::get<DenseMlp>(layer.mlp).width, 80);
}

TEST(DrafterConfig, SlidingLayersCountFromTheAnchorInSpeculatorsFilesAndMeanNothingInDeepSpecs) {
  Case item = golden_case("dspark/sp_gated_b7_sliding");
  EXPECT_EQ(parse(item)->layer_masks[0], (DraftLayerShape{.window = 8, .causal_block = true}));
  EXPECT_EQ(parse(item)->layer_masks[1], DraftLayerShape{});
  item.config = with(item.config, "sliding_window_non_causal", Json(true));
  EXPECT_EQ(parse(item)->layer_masks[0], (DraftLayerShape{.window = 8, .causal_block = false}));
  Case deepspec = golden_case("dspark/ds_vanilla_g7");
  deepspec.config =
      with(deepspec.config, "layer_types",
           Json(Json::Array{Json(std::string("sliding_attention")), Json(std::string("full_attention"))}));
  EXPECT_EQ(parse(deepspec)->layer_masks[0], DraftLayerShape{});
}

TEST(DrafterConfig, DefaultTapsRoundHalvesToEven) {
  EXPECT_EQ(derive_default_taps(7, 3), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(derive_default_taps(36, 5), (std::vector<int>{1, 9, 17, 25, 33}));
  EXPECT_EQ(derive_default_taps(9, 1), std::vector<int>{4});
  EXPECT_EQ(derive_default_taps(48, 8), (std::vector<int>{1, 7, 14, 20, 26, 32, 39, 45}));
  EXPECT_EQ(derive_default_taps(10, 5), (std::vector<int>{1, 2, 4, 6, 7}));  // 2.5 -> 2, 5.5 -> 6
}

TEST(DrafterConfig, AllFaultsComeAtOnceAndNamed) {
  Case item = golden_case("dspark/ds_vanilla_g7");
  item.config = with(item.config, "mask_token_id", Json(std::int64_t{96}));
  item.config = with(item.config, "markov_head_type", Json(std::string("lstm")));
  item.config = with(item.config, "target_layer_ids",
                     Json(Json::Array{Json(std::int64_t{1}), Json(std::int64_t{1}), Json(std::int64_t{6})}));
  item.config = with(item.config, "block_size", Json(std::int64_t{0}));
  const std::string refusal = refusal_of(item);
  for (const char* words :
       {"mask_token_id = 96", "vocab_size = 96", "markov_head_type", "lstm", "vanilla, gated or rnn",
        "target_layer_ids = [1,1,6]", "6 is beyond the target's 6 layers", "1 follows 1", "block_size = 0"}) {
    EXPECT_NE(refusal.find(words), std::string::npos) << words << " is not in:\n" << refusal;
  }
}

TEST(DrafterConfig, ContradictionsAreRefused) {
  struct Change {
    const char* path;
    const char* key;
    Json value;
    const char* words;
  };
  const std::vector<Change> changes = {
      {"dspark/ds_vanilla_g7", "markov_rank", Json(std::int64_t{0}), "confidence_head_with_markov"},
      {"dspark/ds_vanilla_g7", "markov_rank", Json(std::int64_t{-1}), "markov_rank = -1"},
      {"dspark/ds_vanilla_g7", "markov_rank", Json(), "markov_rank"},
      {"dspark/ds_vanilla_g7", "sample_from_anchor", Json(false), "sample_from_anchor"},
      {"dspark/ds_vanilla_g7", "draft_vocab_size", Json(std::int64_t{97}), "draft_vocab_size"},
      {"dspark/ds_vanilla_g7", "model_type", Json(std::string("bert")), "model_type"},
      {"dspark/sp_vanilla_b7_reduced", "target_hidden_size", Json(std::int64_t{64}), "target_hidden_size"},
      {"dspark/sp_vanilla_b7_reduced", "speculators_model_type", Json(std::string("dflash")), "algorithm"},
      {"dspark/sp_vanilla_b7_reduced", "transformer_layer_config", Json(), "transformer_layer_config"},
      {"dspark/sp_vanilla_b7_reduced", "aux_hidden_state_layer_ids", Json(Json::Array{}),
       "aux_hidden_state_layer_ids"},
      {"dspark/sp_rnn_b7_fillin", "draft_vocab_size", Json(std::int64_t{60}), "lm_head.weight"},
      {"dflash/zlab_b16", "sample_from_anchor", Json(true), "sample_from_anchor"},
      {"dflash/zlab_b16", "block_size", Json(std::int64_t{1}), "block_size"},
  };
  for (const Change& change : changes) {
    Case item = golden_case(change.path);
    item.config = with(item.config, change.key, change.value);
    EXPECT_NE(refusal_of(item).find(change.words), std::string::npos)
        << change.path << ", " << change.key << ": " << refusal_of(item);
  }
}

TEST(DrafterConfig, TwoPlacesWithTwoTapListsAreAConflict) {
  Case item = golden_case("dspark/ds_vanilla_g7");
  const Json::Array other = {Json(std::int64_t{1}), Json(std::int64_t{2}), Json(std::int64_t{5})};
  item.config = with(item.config, "dflash_config", Json(Json::Object{{"target_layer_ids", Json(other)}}));
  EXPECT_NE(refusal_of(item).find(
                "target_layer_ids = [1,2,4]: differs from dflash_config.target_layer_ids = [1,2,5]"),
            std::string::npos)
      << refusal_of(item);
}

TEST(DrafterConfig, AClassNameDecidesNothing) {
  for (Case item : golden_cases()) {
    const base::Result<DrafterShape> before = parse(item);
    item.config =
        with(item.config, "architectures", Json(Json::Array{Json(std::string("DSparkDraftModel"))}));
    const base::Result<DrafterShape> after = parse(item);
    ASSERT_TRUE(before.ok() && after.ok()) << item.path;
    EXPECT_EQ(*before, *after) << item.path;
  }
}

TEST(DrafterConfig, OlderFilesKeepTheirKeysInDflashConfig) {
  Case item = golden_case("dspark/ds_vanilla_g7");
  const DrafterShape before = *parse(item);
  Json::Object inner = {{"projector_type", Json(std::string("dspark"))}};
  for (const char* key : {"target_layer_ids", "mask_token_id", "block_size", "markov_rank"}) {
    inner.emplace_back(key, *item.config.find(key));
    item.config = without(item.config, key);
  }
  item.config = with(item.config, "dflash_config", Json(inner));
  const base::Result<DrafterShape> after = parse(item);
  ASSERT_TRUE(after.ok()) << base::to_string(after.error());
  EXPECT_EQ(*after, before);
}

TEST(DrafterConfig, ATargetsConfigIsNoDraftersAndIsToldSo) {
  const Json target = read_json(test_data("qwen3/yarn_f32/config.json"));
  EXPECT_FALSE(is_drafter_config(target));
  const base::Result<DrafterShape> shape = parse_drafter_shape(target, "config.json", {}, 4);
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(base::to_string(shape.error()).find("no config of a DSpark or DFlash drafter"),
            std::string::npos);
}

TEST(DrafterConfig, AnyValueInAnyPlaceNeverCrashes) {
  const std::vector<Json> values = {Json(),
                                    Json(true),
                                    Json(std::int64_t{-2}),
                                    Json(1e300),
                                    Json(std::string("x")),
                                    Json(std::int64_t{9223372036854775807}),
                                    Json(Json::Array{Json(std::int64_t{5}), Json(std::string("y"))}),
                                    Json(Json::Object{{"target_layer_ids", Json(std::int64_t{3})}})};
  for (const Case& item : golden_cases()) {
    for (const auto& [key, old] : *item.config.object()) {
      for (const Json& value : values) {
        Case changed = item;
        changed.config = with(item.config, key, value);
        const base::Result<DrafterShape> shape = parse(changed);
        EXPECT_TRUE(shape.ok() || !shape.error().problems.empty());
      }
    }
  }
}

}  // namespace
}  // namespace outrider::checkpoint
