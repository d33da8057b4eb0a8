#include "checkpoint/facts.h"

#include <gtest/gtest.h>

#include "checkpoint/config_test_support.h"

namespace outrider::checkpoint {
namespace {

using base::Json;

Facts parse_ok(const Json& config) {
  base::Result<Facts> facts = parse_facts(config, "config.json");
  EXPECT_TRUE(facts.ok()) << (facts.ok() ? "" : base::to_string(facts.error()));
  return facts.ok() ? std::move(facts).value() : Facts{};
}
Facts facts_of(const std::string& name) {
  return parse_ok(read_json(test_data("plan/configs") / name / "config.json"));
}

Json number(std::int64_t value) { return Json(value); }
Json text(const std::string& value) { return Json(value); }
template <class T>
Json optional_number(const std::optional<T>& value) {
  return value ? number(static_cast<std::int64_t>(*value)) : Json();
}
Json list(const std::vector<int>& values) {
  Json::Array array;
  for (const int value : values) array.push_back(number(value));
  return Json(std::move(array));
}
Json optional_list(const std::vector<int>& values) { return values.empty() ? Json() : list(values); }

// "full", "sliding", "mla", "window", "ratio4", "linear", "kda": how many layers of each kind.
Json attention_layers(const std::vector<LayerFacts>& layers) {
  std::map<std::string, std::int64_t> counts;
  for (const LayerFacts& layer : layers) {
    switch (layer.attention) {
      case AttentionKind::Full:
        ++counts["full"];
        break;
      case AttentionKind::Sliding:
        ++counts["sliding"];
        break;
      case AttentionKind::Latent:
        ++counts["mla"];
        break;
      case AttentionKind::WindowOnly:
        ++counts["window"];
        break;
      case AttentionKind::Compressed:
        ++counts["ratio" + std::to_string(*layer.compression_ratio)];
        break;
      case AttentionKind::GatedDelta:
        ++counts["linear"];
        break;
      case AttentionKind::KimiDelta:
        ++counts["kda"];
        break;
    }
  }
  Json::Object object;
  for (const auto& [kind, count] : counts) object.emplace_back(kind, number(count));
  return Json(std::move(object));
}

Json kv_bytes(const std::vector<KvGroup>& groups) {
  std::int64_t unbounded = 0, windowed = 0, window = 0;
  for (const KvGroup& group : groups) {
    if (group.window) {
      windowed += group.bytes_per_token_bf16();
      window = *group.window;
    } else {
      unbounded += group.bytes_per_token_bf16();
    }
  }
  Json::Object object;
  if (unbounded > 0) object.emplace_back("unbounded", number(unbounded));
  if (windowed > 0) object.emplace_back("windowed", number(windowed));
  if (windowed > 0) object.emplace_back("window", number(window));
  return Json(std::move(object));
}

void add_drafter(const Facts& facts, Json::Object& ours) {
  const DrafterFacts& drafter = *facts.drafter;
  const auto add = [&](const char* key, Json value) { ours.emplace_back(key, std::move(value)); };
  add("method", text(std::string(name_of(drafter.method))));
  add("format", text(drafter.format));
  add("block_size", optional_number(drafter.block_size));
  add("layout", text(drafter.anchor_first ? "anchor first" : "1+N fill-in"));
  add("drafts_per_block", optional_number(drafter.drafts_per_block));
  add("default_num_speculative_tokens", optional_number(drafter.default_tokens));
  const bool eagle = drafter.method == DraftMethod::Eagle3;
  add(eagle ? "aux_layer_ids" : "taps", drafter.taps ? list(*drafter.taps) : Json());
  add("tap_point",
      text(drafter.tap_point == TapPoint::LayerOutput ? "output of the layer" : "input of the layer"));
  add("mask_token", optional_number(drafter.mask_token));
  add("noise_token", optional_number(drafter.mask_token));
  add("markov", drafter.markov ? Json(Json::Object{{"rank", number(drafter.markov->rank)},
                                                   {"type", text(drafter.markov->type)}})
                               : Json());
  add("markov_rank", drafter.markov ? number(drafter.markov->rank) : Json());
  Json::Object confidence = {{"present", Json(drafter.confidence)}};
  if (drafter.confidence) {
    confidence.emplace_back("with_markov", Json(drafter.confidence_with_markov));
    confidence.emplace_back("input", text("post-norm"));
  }
  add("confidence", Json(std::move(confidence)));
  add("causal", Json(drafter.causal));
  add("fc_input", optional_number(drafter.context_width));
  add("attention_input", optional_number(drafter.attention_input));
  add("target_layers", optional_number(drafter.target_layers));
  add("draft_vocab_size", number(drafter.draft_vocabulary));
  add("own_embedding", Json(drafter.own_embedding));
  add("own_head", Json(drafter.own_head));
  add("pard_token", optional_number(drafter.pard_token));
  add("stages", number(drafter.stages));
  add("layer_ids", optional_list(drafter.layer_ids));
  if (drafter.inside_target) {
    const std::int64_t parameters = facts.parameters(true);
    add("parameters", parameters > 0 ? number(parameters) : Json());
    add("experts", drafter.moe ? number(drafter.moe->experts) : number(0));
    add("experts_per_token", drafter.moe ? number(drafter.moe->experts_per_token) : number(0));
    add("kv_bytes_per_token_bf16", kv_bytes(drafter.kv));
    ours.erase(std::find_if(ours.begin(), ours.end(), [](const auto& m) { return m.first == "layout"; }));
    add("layout", text("anchor first"));
  }
}

// Everything that a shape.json may say, as we see it.
Json shape_of(const Facts& facts) {
  const ModelFacts& model = facts.model;
  const MoeFacts moe =
      model.moe.value_or(MoeFacts{.experts = 0, .experts_per_token = 0, .groups = 0, .expert_width = 0});
  Json::Object ours;
  const auto add = [&](const char* key, Json value) { ours.emplace_back(key, std::move(value)); };
  add("role", text(facts.is_drafter ? "draft" : "target"));
  add("model_type", text(model.model_type));
  add("layers", number(model.layer_count));
  add("hidden_size", number(model.hidden_width));
  add("vocab_size", number(model.vocabulary));
  add("tied_head", Json(model.tied_head));
  const auto moe_layers = static_cast<std::int64_t>(moe.layers.size());
  add("dense_layers", number(model.layer_count - moe_layers));
  add("moe_layers", number(moe_layers));
  add("experts", number(moe.experts));
  add("experts_per_token", number(moe.experts_per_token));
  add("shared_experts", number(moe.shared_experts));
  add("expert_groups", number(moe.groups));
  add("expert_intermediate", number(moe.expert_width));
  add("heads", number(model.heads));
  add("kv_heads", number(model.kv_heads));
  add("head_dim", optional_number(model.head_width));
  add("global_head_dim", optional_number(model.global_head_width));
  add("global_kv_heads", optional_number(model.global_kv_heads));
  add("kv_lora_rank", optional_number(model.kv_rank));
  add("rope_head_dim", optional_number(model.rope_width));
  add("q_lora_rank", optional_number(model.q_rank));
  add("o_groups", optional_number(model.output_groups));
  add("latent_width", optional_number(model.latent_width));
  add("attention_layers", attention_layers(model.layers));
  add("attention", text(model.attention));
  add("window", optional_number(model.window));
  add("hash_layers", number(static_cast<std::int64_t>(model.hash_layers.size())));
  add("kv_source_layers", list(model.kv_source_layers));
  add("index_source_layers", list(model.index_source_layers));
  add("engram_layers", list(model.engram_layers));
  add("max_position", optional_number(model.positions_max));
  add("kv_bytes_per_token_bf16", kv_bytes(model.kv));
  add("tensors", number(facts.tensor_count()));
  add("bytes_on_disk", number(facts.bytes_on_disk()));
  add("quantization", model.quantisation ? text(model.quantisation->method) : Json());
  add("parameters", Json(Json::Object{{"main", number(facts.parameters(false))},
                                      {"in_checkpoint_draft", number(facts.parameters(true))}}));
  if (facts.is_drafter) {
    add_drafter(facts, ours);
  } else if (facts.drafter) {
    Json::Object inside;
    add_drafter(facts, inside);
    add("in_checkpoint_drafter", Json(std::move(inside)));
  }
  return Json(std::move(ours));
}

bool is_prose(const std::string& key) {
  return key == "published" || key == "parameters_checked" || key == "note" || key == "note_moe" ||
         key == "aux_layer_ids_rule";
}

// Every key of theirs must be among ours with the same value.
void expect_holds(const Json& ours, const Json& theirs, const std::string& path) {
  for (const auto& [key, value] : *theirs.object()) {
    if (is_prose(key)) continue;
    const Json* found = ours.find(key);
    ASSERT_NE(found, nullptr) << path << key;
    // Markov's and the confidence's members stand in another order.
    if (value.object() != nullptr && found->object() != nullptr) {
      expect_holds(*found, value, path + key + ".");
      for (const auto& [ours_key, ours_value] : *found->object()) {
        const bool zero = ours_value.integer() != nullptr && *ours_value.integer() == 0;
        EXPECT_TRUE(path != "" || key != "kv_bytes_per_token_bf16" || zero || value.find(ours_key) != nullptr)
            << path << key << "." << ours_key;
      }
    } else if (key == "attention_layers") {
      expect_holds(*found, value, path + key + ".");
    } else {
      EXPECT_EQ(*found, value) << path << key << ": ours " << found->excerpt() << ", theirs "
                               << value.excerpt();
    }
  }
}

TEST(Facts, EveryPublishedShapeComesOutOfItsConfig) {
  const std::vector<std::string> names = folders_of("plan/configs");
  ASSERT_GE(names.size(), 35u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Json theirs = read_json(test_data("plan/configs") / name / "shape.json");
    Json ours = shape_of(facts_of(name));
    // Layer kinds of which a model has none are 0 there and absent here.
    if (const Json* kinds = theirs.find("attention_layers")) {
      Json::Object some;
      for (const auto& [kind, count] : *kinds->object()) {
        if (*count.integer() != 0) some.emplace_back(kind, count);
      }
      theirs = with(theirs, "attention_layers", Json(std::move(some)));
    }
    expect_holds(ours, theirs, "");
  }
}

Facts patched(const std::string& name, const std::string& patch) {
  Json config = read_json(test_data("plan/configs") / name / "config.json");
  base::apply_merge_patch(config, *base::parse_json(patch, "patch"));
  return parse_ok(config);
}

// Sizes are known where the family lists codes and scales; a format that it lists as plain tensors says so.
TEST(Facts, SizesOfAFormatAreKnownOnlyWhereItsTensorsAreListed) {
  const std::string blocks =
      R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})";
  struct Row {
    const char *name, *patch;
    bool known;
  };
  const Row rows[] = {
      {"qwen3-8b", blocks.c_str(), true},
      {"qwen3-30b-a3b", blocks.c_str(), true},
      {"deepseek-v3", "{}", true},
      {"gpt-oss-120b", "{}", true},
      {"kimi-k3", "{}", true},
      {"qwen3.5-35b-a3b", blocks.c_str(), false},
      {"gemma-4-31b", blocks.c_str(), false},
      {"gpt-oss-120b", R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})",
       false},
      {"qwen3-8b", R"({"quantization_config":{"quant_method":"awq","bits":4}})", false}};
  for (const Row& row : rows) {
    const Facts facts = patched(row.name, row.patch);
    ASSERT_TRUE(facts.model.quantisation.has_value()) << row.name;
    EXPECT_EQ(facts.model.quantisation->sizes_known, row.known) << row.name << row.patch;
  }
  // One byte a weight and one scale a block, where they are listed: a dense model of 8 billion.
  const Facts plain = facts_of("qwen3-8b"), fp8 = patched("qwen3-8b", blocks);
  const auto bytes = [](const Facts& facts, const std::string& ending) {
    std::int64_t sum = 0;
    for (const TensorGroup& group : facts.tensors) {
      if (group.name.find("layers.0.") != std::string::npos && group.name.ends_with(ending))
        sum += group.bytes();
    }
    return sum;
  };
  EXPECT_EQ(bytes(plain, "gate_proj.weight"), std::int64_t{2} * 12288 * 4096);
  EXPECT_EQ(bytes(fp8, "gate_proj.weight"), std::int64_t{1} * 12288 * 4096);
  EXPECT_EQ(bytes(fp8, "gate_proj.weight_scale_inv"), std::int64_t{4} * (12288 / 128) * (4096 / 128));
}

TEST(Facts, PositionsGoOnToYarnsLength) {
  EXPECT_EQ(facts_of("qwen3-32b").model.positions_max, 40960);
  EXPECT_EQ(
      patched(
          "qwen3-32b",
          R"({"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}})")
          .model.positions_max,
      131072);
  EXPECT_EQ(facts_of("deepseek-v3").model.positions_max, 163840);  // 40 times 4096, as its key says
}

}  // namespace
}  // namespace outrider::checkpoint
