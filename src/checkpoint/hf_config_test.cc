#include "checkpoint/hf_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "checkpoint/config_test_support.h"

namespace outrider::checkpoint {
namespace {

using base::Json;

ModelShape parse_ok(const Json& config) {
  base::Result<ModelShape> shape = parse_model_shape(config, "config.json");
  EXPECT_TRUE(shape.ok()) << (shape.ok() ? "" : base::to_string(shape.error()));
  return shape.ok() ? std::move(shape).value() : ModelShape{};
}
std::string refusal_of(const Json& config) {
  const base::Result<ModelShape> shape = parse_model_shape(config, "config.json");
  return shape.ok() ? "" : base::to_string(shape.error());
}
const GroupedAttention& attention_of(const ModelShape& shape, std::size_t layer) {
  return std::get<GroupedAttention>(shape.layers.at(layer).attention);
}

// Names and shapes as files hold them; optional tensors may be there or not.
void expect_same_tensors(const std::vector<TensorSpec>& specs,
                         const std::map<std::string, HeaderEntry>& found) {
  std::set<std::string> expected;
  for (const TensorSpec& spec : specs) {
    EXPECT_TRUE(expected.insert(spec.name).second) << spec.name << " twice";
    const auto entry = found.find(spec.name);
    if (entry == found.end()) {
      EXPECT_TRUE(spec.optional) << spec.name;
      continue;
    }
    EXPECT_EQ(spec.shape, entry->second.shape) << spec.name;
    EXPECT_TRUE(!spec.dtype || tensor::name_of(*spec.dtype) == entry->second.dtype) << spec.name;
  }
  for (const auto& [name, entry] : found) EXPECT_TRUE(expected.contains(name)) << name << " is not expected";
}

TEST(HfConfig, ExpectsExactlyTheTensorsOfEveryGoldenTarget) {
  int seen = 0;
  for (const std::string family : {"qwen3", "qwen3-moe"}) {
    for (const std::string& name : folders_of(family)) {
      SCOPED_TRACE(family + "/" + name);
      const auto folder = test_data(family) / name;
      expect_same_tensors(expected_tensors(parse_ok(read_json(folder / "config.json"))),
                          read_headers(folder));
      ++seen;
    }
  }
  for (const std::string family : {"dspark", "dflash"}) {
    for (const std::string& name : folders_of(family)) {
      SCOPED_TRACE(family + "/" + name);
      const auto folder = test_data(family) / name / "target";
      expect_same_tensors(expected_tensors(parse_ok(read_json(folder / "config.json"))),
                          read_headers(folder));
      ++seen;
    }
  }
  EXPECT_GE(seen, 24);
}

TEST(HfConfig, ARedundantHeadOfATiedModelIsOptional) {
  const ModelShape tied = parse_ok(read_json(test_data("qwen3-moe/top4_tied_f16/config.json")));
  const std::vector<TensorSpec> specs = expected_tensors(tied);
  const auto head =
      std::find_if(specs.begin(), specs.end(), [](const auto& s) { return s.name == "lm_head.weight"; });
  ASSERT_NE(head, specs.end());
  EXPECT_TRUE(head->optional);
  const std::vector<TensorSpec> untied =
      expected_tensors(parse_ok(read_json(test_data("qwen3/bias_mha_bf16/config.json"))));
  EXPECT_TRUE(std::none_of(untied.begin(), untied.end(), [](const auto& s) { return s.optional; }));
}

TEST(HfConfig, LayersFromMaxWindowLayersOnSlide) {
  const ModelShape shape = parse_ok(read_json(test_data("qwen3/sliding_window_bf16/config.json")));
  ASSERT_EQ(shape.layers.size(), 4u);
  EXPECT_EQ(attention_of(shape, 1).window, std::nullopt);
  EXPECT_EQ(attention_of(shape, 2).window, 12);
  EXPECT_EQ(attention_of(shape, 3).window, 12);
}

TEST(HfConfig, AWindowThatIsNotUsedMeansNothing) {
  const ModelShape shape = parse_ok(read_json(test_data("qwen3/bias_mha_bf16/config.json")));
  for (std::size_t i = 0; i < shape.layers.size(); ++i)
    EXPECT_EQ(attention_of(shape, i).window, std::nullopt);
  EXPECT_TRUE(attention_of(shape, 0).bias);
}

TEST(HfConfig, LayerTypesWinOverMaxWindowLayers) {
  const Json config =
      with(read_json(test_data("qwen3/sliding_window_bf16/config.json")), "layer_types",
           Json(Json::Array{Json(std::string("sliding_attention")), Json(std::string("full_attention")),
                            Json(std::string("full_attention")), Json(std::string("full_attention"))}));
  const ModelShape shape = parse_ok(config);
  EXPECT_EQ(attention_of(shape, 0).window, 12);
  EXPECT_EQ(attention_of(shape, 3).window, std::nullopt);
  EXPECT_NE(refusal_of(with(config, "use_sliding_window", Json(false))).find("layer_types"),
            std::string::npos);
}

TEST(HfConfig, QwenMoeAppliesTheWindowToEveryLayer) {
  Json config = read_json(test_data("qwen3-moe/all_sparse_top2_bf16/config.json"));
  config = with(with(config, "use_sliding_window", Json(true)), "sliding_window", Json(std::int64_t{9}));
  const ModelShape shape = parse_ok(with(config, "max_window_layers", Json(std::int64_t{2})));
  for (std::size_t i = 0; i < shape.layers.size(); ++i) EXPECT_EQ(attention_of(shape, i).window, 9);
}

TEST(HfConfig, DenseAndSparseLayersAlternateAsTheStepSays) {
  Json config = read_json(test_data("qwen3-moe/mixed_dense_top6_sharded_bf16/config.json"));
  const auto is_sparse = [](const ModelShape& shape, std::size_t i) {
    return std::holds_alternative<MoeMlp>(shape.layers.at(i).mlp);
  };
  const ModelShape shape = parse_ok(config);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(is_sparse(shape, i), i % 2 == 1) << i;
  const MoeMlp& moe = std::get<MoeMlp>(shape.layers[1].mlp);
  EXPECT_EQ(moe.experts, 24);
  EXPECT_EQ(moe.experts_per_token, 6);
  EXPECT_FALSE(moe.normalise_weights);
  // Here the list of dense layers decides, which no golden model shows.
  config = with(config, "mlp_only_layers", Json(Json::Array{Json(std::int64_t{3})}));
  EXPECT_TRUE(is_sparse(parse_ok(config), 1));
  EXPECT_FALSE(is_sparse(parse_ok(config), 3));
}

TEST(HfConfig, BothSpellingsOfTheExpertCountAreRead) {
  const Json config = read_json(test_data("qwen3-moe/top_all_v5config/config.json"));
  EXPECT_EQ(std::get<MoeMlp>(parse_ok(config).layers[0].mlp).experts, 6);
  const std::string refusal = refusal_of(with(config, "num_experts", Json(std::int64_t{7})));
  EXPECT_NE(refusal.find("num_experts = 7: differs from num_local_experts = 6"), std::string::npos)
      << refusal;
}

TEST(HfConfig, YarnsFactorOnTheScoresFollowsFromItsLength) {
  const Json config = read_json(test_data("qwen3/yarn_f32/config.json"));
  const ModelShape shape = parse_ok(config);
  const YarnRope& yarn = std::get<YarnRope>(shape.rope.scaling);
  EXPECT_EQ(yarn.factor, 4);
  EXPECT_EQ(yarn.original_positions, 40);
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(shape.weight_dtype, tensor::Dtype::F32);
  const Json given =
      with(config, "rope_scaling", with(*config.find("rope_scaling"), "attention_factor", Json(1.5)));
  EXPECT_EQ(std::get<YarnRope>(parse_ok(given).rope.scaling).attention_factor, 1.5);
}

TEST(HfConfig, NewerFilesKeepTheRotaryBaseInAnObject) {
  const Json config = read_json(test_data("qwen3/odd_sizes_v5config/config.json"));
  EXPECT_EQ(parse_ok(config).rope.theta, 1000000.0);
  const std::string refusal = refusal_of(with(config, "rope_theta", Json(5.0)));
  EXPECT_NE(refusal.find("rope_theta"), std::string::npos) << refusal;
  EXPECT_NE(refusal_of(without(config, "rope_parameters")).find("rope_theta: is missing"), std::string::npos);
}

TEST(HfConfig, AnAbsentHeadWidthIsAnotherNumberInEachFamily) {
  const Json dense = without(read_json(test_data("qwen3/tied_gqa_bf16/config.json")), "head_dim");
  EXPECT_EQ(attention_of(parse_ok(dense), 0).head_width, 128);
  const Json moe = without(read_json(test_data("qwen3-moe/top1_bf16/config.json")), "head_dim");
  EXPECT_EQ(attention_of(parse_ok(moe), 0).head_width, 16);  // hidden 64, 4 heads
}

TEST(HfConfig, EndTokensMayBeAList) {
  const Json config = read_json(test_data("qwen3/tied_gqa_bf16/config.json"));
  EXPECT_EQ(parse_ok(config).end_token_ids, std::vector<std::int32_t>{297});
  const Json two =
      with(config, "eos_token_id", Json(Json::Array{Json(std::int64_t{1}), Json(std::int64_t{2})}));
  EXPECT_EQ(parse_ok(two).end_token_ids, (std::vector<std::int32_t>{1, 2}));
  EXPECT_NE(refusal_of(with(config, "eos_token_id", Json(std::int64_t{300}))), "");
}

TEST(HfConfig, QuantisedWeightsAreNotReadAsIfTheyWerePlain) {
  const Json config = read_json(test_data("qwen3/tied_gqa_bf16/config.json"));
  const Json fp8 =
      with(config, "quantization_config", Json(Json::Object{{"quant_method", Json(std::string("fp8"))}}));
  EXPECT_NE(refusal_of(fp8).find("quantization_config"), std::string::npos);
}

// Cases that only the weights can decide; they are run end to end with the files.
bool needs_weights(const std::string& name) {
  static const std::set<std::string> kNames = {
      "config/hidden_size_not_the_weights", "config/layers_more_than_weights",
      "config/vocab_smaller_than_embedding", "config/experts_fewer_than_weights"};
  return kNames.contains(name);
}

TEST(HostileConfig, EveryCaseIsJudgedAsItsTableSays) {
  const Json table = read_json(test_data("hostile/cases.json"));
  const Json::Array& cases = table.array() != nullptr ? *table.array() : *table.find("cases")->array();
  int seen = 0;
  for (const Json& item : cases) {
    if (*item.find("kind")->string() != "config" || item.find("file")->is_null()) continue;
    const std::string& name = *item.find("name")->string();
    if (needs_weights(name)) continue;
    SCOPED_TRACE(name);
    ++seen;
    const std::string text = read_text(test_data("hostile") / *item.find("file")->string());
    const base::Result<Json> json = base::parse_json(text, "config.json");
    const std::string message = json.ok() ? refusal_of(*json) : base::to_string(json.error());
    EXPECT_EQ(message.empty(), *item.find("expect")->string() == "accept") << message;
    for (const Json& word : *item.find("names")->array()) {
      EXPECT_NE(message.find(*word.string()), std::string::npos)
          << *word.string() << " is not in: " << message;
    }
  }
  EXPECT_GE(seen, 38);
}

TEST(HostileConfig, AnythingButAnObjectIsRefused) {
  for (const char* text :
       {"null", "[]", "3", "\"qwen3\"", "{}", "{\"architectures\": [], \"model_type\": null}",
        "{\"architectures\": [3], \"model_type\": {}}"}) {
    const base::Result<Json> json = base::parse_json(text, "config.json");
    ASSERT_TRUE(json.ok());
    EXPECT_NE(refusal_of(*json), "") << text;
  }
}

// Every key of a healthy config, replaced by every kind of wrong value: never a crash, and where it is
// refused the key is named.
TEST(HostileConfig, AnyValueInAnyPlaceIsAnsweredWithTheKey) {
  const std::vector<Json> values = {Json(),
                                    Json(true),
                                    Json(std::int64_t{0}),
                                    Json(std::int64_t{-1}),
                                    Json(std::int64_t{9223372036854775807}),
                                    Json(1e308),
                                    Json(-0.5),
                                    Json(std::string("x")),
                                    Json(Json::Array{}),
                                    Json(Json::Array{Json(std::int64_t{-5}), Json(std::string("y"))}),
                                    Json(Json::Object{}),
                                    Json(Json::Object{{"rope_type", Json(std::int64_t{3})}})};
  int refused = 0;
  for (const char* name :
       {"qwen3/yarn_f32", "qwen3/odd_sizes_v5config", "qwen3-moe/mixed_dense_top6_sharded_bf16"}) {
    const Json config = read_json(test_data(name) / "config.json");
    for (const auto& [key, old] : *config.object()) {
      for (const Json& value : values) {
        const std::string refusal = refusal_of(with(config, key, value));
        if (refusal.empty()) continue;
        ++refused;
        EXPECT_NE(refusal.find(key), std::string::npos) << key << ": " << refusal;
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(HostileConfig, ManyExpertsInManyLayersAreRefusedBeforeTheyAreListed) {
  Json config = read_json(test_data("qwen3-moe/top1_bf16/config.json"));
  config = with(with(config, "num_experts", Json(std::int64_t{8192})), "num_hidden_layers",
                Json(std::int64_t{1024}));
  EXPECT_NE(refusal_of(config).find("num_experts"), std::string::npos);
}

}  // namespace
}  // namespace outrider::checkpoint
