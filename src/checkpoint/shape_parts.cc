#include "checkpoint/shape_parts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace outrider::checkpoint {
namespace {

// transformers' yarn_get_mscale.
double magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

YarnRope read_yarn(const ConfigReader& settings, std::int64_t positions_max) {
  YarnRope yarn{
      .factor = settings.positive("factor"), .original_positions = positions_max, .attention_factor = 1};
  settings.require(yarn.factor >= 1, "factor", "must be at least 1");
  yarn.original_positions =
      settings.integer_if("original_max_position_embeddings", 1, kPositionsMax).value_or(positions_max);
  yarn.beta_fast = settings.positive_if("beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = settings.positive_if("beta_slow").value_or(yarn.beta_slow);
  settings.require(yarn.beta_fast >= yarn.beta_slow, "beta_fast", "must not be below beta_slow");
  const std::optional<double> scale = settings.positive_if("mscale");
  const std::optional<double> scale_all = settings.positive_if("mscale_all_dim");
  const double by_factor = scale && scale_all
                               ? magnitude(yarn.factor, *scale) / magnitude(yarn.factor, *scale_all)
                               : magnitude(yarn.factor, 1);
  yarn.attention_factor = settings.positive_if("attention_factor").value_or(by_factor);
  yarn.rounded = settings.flag("truncate", true);
  return yarn;
}

Llama3Rope read_llama3(const ConfigReader& settings) {
  const Llama3Rope rope{
      .factor = settings.positive("factor"),
      .low_frequency_factor = settings.positive("low_freq_factor"),
      .high_frequency_factor = settings.positive("high_freq_factor"),
      .original_positions = settings.integer("original_max_position_embeddings", 1, kPositionsMax),
  };
  settings.require(rope.high_frequency_factor > rope.low_frequency_factor, "high_freq_factor",
                   "must be above low_freq_factor");
  return rope;
}

void read_fp8_blocks(const ConfigReader& settings, Quantisation& quantisation) {
  const std::optional<std::vector<int>> block = settings.integers_if("weight_block_size", 1, 4096);
  if (!block) return;  // one scale per tensor: no blocks
  if (block->size() != 2) {
    settings.report("weight_block_size", "must be [rows, columns]");
    return;
  }
  static constexpr std::array<std::string_view, 2> kScales = {"ue8m0", "float"};
  const bool powers = settings.choice_if("scale_fmt", kScales) == std::size_t{0};
  quantisation.dense = Fp8Blocks{.rows = (*block)[0], .columns = (*block)[1], .power_of_two_scales = powers};
  quantisation.experts = quantisation.dense;
  quantisation.sizes_known = true;
}

// compressed-tensors: 4-bit experts beside plain layers, as Kimi publishes them.
void read_packed_experts(const ConfigReader& settings, Quantisation& quantisation) {
  const std::string format = settings.text_if("format").value_or("");
  const std::optional<ConfigReader> groups = settings.object_if("config_groups");
  const std::optional<ConfigReader> group = groups ? groups->object_if("group_0") : std::nullopt;
  const std::optional<ConfigReader> weights = group ? group->object_if("weights") : std::nullopt;
  if (!weights) return;
  const std::int64_t size = weights->integer_if("group_size", 1, 4096).value_or(32);
  const std::int64_t bits = weights->integer_if("num_bits", 1, 16).value_or(0);
  if (format == "mxfp4-pack-quantized" && bits == 4) quantisation.experts = Fp4Groups{.group = size};
  if (format == "pack-quantized" && bits == 4) quantisation.experts = Int4Groups{.group = size};
  quantisation.sizes_known = !std::holds_alternative<PlainFormat>(quantisation.experts);
}

}  // namespace

RopeShape read_rope_object(const ConfigReader& settings, std::optional<double> outer_theta,
                           std::int64_t positions_max, std::span<const std::string_view> kinds) {
  RopeShape rope{.theta = 1, .scaling = PlainRope{}};
  if (const std::optional<double> theta = settings.positive_if("rope_theta")) {
    rope.theta = *theta;
    settings.require(!outer_theta || *outer_theta == *theta, "rope_theta", "differs from rope_theta outside");
  } else if (outer_theta) {
    rope.theta = *outer_theta;
  } else if (!settings.has("rope_theta") && !settings.sizes_only()) {
    settings.report("rope_theta", "is missing and required: must be a number above 0");
  }
  rope.rotated_share = settings.positive_if("partial_rotary_factor").value_or(1);
  settings.require(rope.rotated_share <= 1, "partial_rotary_factor", "must be at most 1");
  const std::string_view key = settings.spelling("rope_type", "type");
  const std::optional<std::size_t> kind = settings.choice_if(key, kinds);
  if (kind && kinds[*kind] == "yarn") rope.scaling = read_yarn(settings, positions_max);
  if (kind && kinds[*kind] == "llama3") rope.scaling = read_llama3(settings);
  if (kind && kinds[*kind] == "proportional") rope.scaling = ProportionalRope{};
  // A factor without a type is a scaling whose rule nobody states.
  settings.require(settings.has(key) || !settings.has("factor"), "rope_type",
                   "is missing beside factor: must be " + list_choices(kinds));
  return rope;
}

RopeShape read_rope(const ConfigReader& reader, std::int64_t positions_max,
                    std::span<const std::string_view> kinds, std::optional<double> theta_default) {
  std::optional<double> theta = reader.positive_if("rope_theta");
  const bool theta_given = reader.has("rope_theta");
  const std::string_view key = reader.spelling("rope_parameters", "rope_scaling");
  const std::optional<ConfigReader> settings = reader.object_if(key);
  const bool theta_inside = settings && settings->has("rope_theta");
  if (!theta_given && !theta_inside) {
    theta = theta_default;
    if (!theta && !reader.sizes_only()) {
      reader.report("rope_theta",
                    "is missing and required, here or in rope_parameters: must be a number above 0");
    }
  }
  if (!theta && !theta_inside) theta = 1;  // stand-in of a fault reported above
  if (!settings) return {.theta = theta.value_or(1), .scaling = PlainRope{}};
  return read_rope_object(*settings, theta, positions_max, kinds);
}

tensor::Dtype read_dtype(const ConfigReader& reader, const ConfigReader& outer) {
  static constexpr std::array<std::string_view, 3> kNames = {"bfloat16", "float16", "float32"};
  static constexpr tensor::Dtype kDtypes[] = {tensor::Dtype::BF16, tensor::Dtype::F16, tensor::Dtype::F32};
  for (const ConfigReader* place : {&reader, &outer}) {
    const std::string_view key = place->spelling("torch_dtype", "dtype");
    if (!place->has(key)) continue;
    const std::optional<std::size_t> choice = place->choice_if(key, kNames);
    return choice ? kDtypes[*choice] : tensor::Dtype::BF16;
  }
  return tensor::Dtype::BF16;
}

std::int64_t read_positions(const ConfigReader& reader) {
  constexpr std::string_view kKey = "max_position_embeddings";
  if (reader.sizes_only() && !reader.has(kKey)) return 1;
  return reader.integer(kKey, 1, kPositionsMax);
}

std::vector<std::int32_t> read_end_tokens(const ConfigReader& reader, std::int64_t vocabulary) {
  const base::Json* value = reader.find("eos_token_id");
  if (value == nullptr) return {};
  if (value->array() != nullptr)
    return reader.integers_if("eos_token_id", 0, vocabulary - 1).value_or(std::vector<int>{});
  const std::optional<std::int64_t> id = reader.integer_if("eos_token_id", 0, vocabulary - 1);
  return id ? std::vector<std::int32_t>{static_cast<std::int32_t>(*id)} : std::vector<std::int32_t>{};
}

std::optional<std::vector<std::size_t>> read_layer_types(const ConfigReader& reader, int layer_count,
                                                         std::span<const std::string_view> allowed) {
  const std::optional<std::vector<std::string>> names = reader.texts_if("layer_types");
  if (!names) return std::nullopt;
  if (static_cast<int>(names->size()) != layer_count) {
    reader.report("layer_types", "has " + std::to_string(names->size()) +
                                     " entries for num_hidden_layers = " + std::to_string(layer_count));
  }
  std::vector<std::size_t> types(static_cast<std::size_t>(layer_count), 0);
  for (std::size_t i = 0; i < std::min(types.size(), names->size()); ++i) {
    const auto found = std::find(allowed.begin(), allowed.end(), (*names)[i]);
    if (found == allowed.end()) {
      reader.report("layer_types", "entry " + std::to_string(i) + " must be " + list_choices(allowed));
      return std::nullopt;
    }
    types[i] = static_cast<std::size_t>(found - allowed.begin());
  }
  return types;
}

void check_head_counts(const ConfigReader& reader, int heads, int kv_heads) {
  const bool stand_in = reader.told("num_attention_heads") || reader.told("num_key_value_heads");
  reader.require(stand_in || heads % kv_heads == 0, "num_attention_heads",
                 "must be a multiple of num_key_value_heads = " + std::to_string(kv_heads));
}

void check_chosen_experts(const ConfigReader& reader, std::string_view key, std::string_view experts_key,
                          int chosen, int experts) {
  reader.require(reader.told(experts_key) || chosen <= experts, key,
                 "must be at most " + std::string(experts_key) + " = " + std::to_string(experts));
}

void check_expert_tensors(const ConfigReader& reader, std::string_view experts_key, std::int64_t layers,
                          std::int64_t experts) {
  reader.require(layers * experts <= kExpertTensorsMax, experts_key,
                 "times num_hidden_layers = " + std::to_string(layers) + " must be at most " +
                     std::to_string(kExpertTensorsMax));
}

std::optional<Quantisation> read_quantisation(const ConfigReader& reader, const ConfigReader& outer) {
  std::optional<ConfigReader> settings = reader.object_if("quantization_config");
  if (!settings) settings = outer.object_if("quantization_config");
  if (!settings) return std::nullopt;
  // Our own packing (packed.h): the file of weights says what it holds.
  if (settings->text_if("quant_method") == "outrider") return std::nullopt;
  Quantisation quantisation{.method = settings->text_if("quant_method").value_or(""),
                            .dense = PlainFormat{},
                            .experts = PlainFormat{},
                            .ignored = {},
                            .sizes_known = false};
  settings->require(!quantisation.method.empty(), "quant_method",
                    "is required: names the format of the weights");
  for (const char* key : {"ignore", "modules_to_not_convert", "ignored_layers"}) {
    if (const auto names = settings->texts_if(key)) quantisation.ignored = *names;
  }
  if (quantisation.method == "fp8") read_fp8_blocks(*settings, quantisation);
  if (quantisation.method == "compressed-tensors") read_packed_experts(*settings, quantisation);
  return quantisation;
}

ModelShape read_body(const ConfigReader& text, const ConfigReader& outer, std::string family,
                     std::span<const std::string_view> rope_kinds) {
  ModelShape shape{
      .family = std::move(family),
      .hidden_width = text.width("hidden_size"),
      .vocabulary = text.integer("vocab_size", 1, kVocabularyMax),
      .positions_max = read_positions(text),
      .norm_epsilon = text.positive_number("rms_norm_eps", 1e-6),
      .tied_head = text.flag("tie_word_embeddings", outer.flag("tie_word_embeddings", false)),
      .rope = {.theta = 1, .scaling = PlainRope{}},
      .weight_dtype = read_dtype(text, outer),
      .layers = {},
      .end_token_ids = {},
  };
  shape.rope = read_rope(text, shape.positions_max, rope_kinds);
  // Stretched by YaRN, positions go on to its factor times what was trained, whatever the key says.
  if (const auto* yarn = std::get_if<YarnRope>(&shape.rope.scaling)) {
    const double stretched = std::min(static_cast<double>(yarn->original_positions) * yarn->factor,
                                      static_cast<double>(kPositionsMax));
    shape.positions_max = std::max(shape.positions_max, static_cast<std::int64_t>(stretched));
  }
  shape.end_token_ids = read_end_tokens(text, text.told("vocab_size") ? kVocabularyMax : shape.vocabulary);
  shape.quantisation = read_quantisation(text, outer);
  return shape;
}

}  // namespace outrider::checkpoint
