#include "checkpoint/drafter_reader.h"

#include <algorithm>
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> kHeadTypes = {"vanilla", "gated", "rnn"};
constexpr std::array<std::string_view, 2> kAlgorithms = {"dspark", "dflash"};
constexpr std::array<std::string_view, 2> kBackbones = {"qwen3", "qwen3_moe"};
constexpr std::array<std::string_view, 2> kLayerKinds = {"full_attention", "sliding_attention"};

bool holds_name(const DrafterContext& context, std::string_view name) {
  return std::binary_search(context.tensor_names->begin(), context.tensor_names->end(), name);
}
bool knows_names(const DrafterContext& context) {
  return context.tensor_names != nullptr && !context.tensor_names->empty();
}

// The object that holds a key: dflash_config, or the top where older and newer files put it.
ConfigReader place_of(const ConfigReader& outer, std::string_view key, bool top_first) {
  const std::optional<ConfigReader> nested =
      outer.has("dflash_config") ? outer.object_if("dflash_config") : std::nullopt;
  if (!nested) return outer;
  const ConfigReader& first = top_first ? outer : *nested;
  const ConfigReader& second = top_first ? *nested : outer;
  return first.has(key) || !second.has(key) ? first : second;
}

// Two places, two values: nobody can tell which one the weights were trained with.
void check_same_in_both_places(const ConfigReader& outer, std::string_view key) {
  const base::Json* nested = outer.has("dflash_config") ? outer.find("dflash_config")->find(key) : nullptr;
  if (nested == nullptr || nested->is_null() || !outer.has(key) || *nested == *outer.find(key)) return;
  outer.report(key, "differs from dflash_config." + std::string(key) + " = " + nested->excerpt(),
               "leave the one that the drafter was trained with");
}

void check_taps(const ConfigReader& place, std::string_view key, const std::vector<int>& taps, int offset,
                std::optional<int> target_layers) {
  place.require(!taps.empty(), key, "must name at least one layer of the target");
  for (std::size_t i = 1; i < taps.size(); ++i) {
    place.require(taps[i] > taps[i - 1], key,
                  "must increase strictly: " + std::to_string(taps[i] + offset) + " follows " +
                      std::to_string(taps[i - 1] + offset));
  }
  for (const int tap : taps) {
    place.require(!target_layers || tap < *target_layers, key,
                  std::to_string(tap + offset) + " is beyond the target's " +
                      std::to_string(target_layers.value_or(0)) + " layers");
  }
}

// Returns layer outputs, 0-based; -1 is the embedding's output.
std::vector<int> read_taps(const ConfigReader& outer, DrafterFormat format, int drafter_layers,
                           std::optional<int> target_layers) {
  if (format == DrafterFormat::Speculators) {  // a value means the stream that enters that layer
    const std::string_view key = "aux_hidden_state_layer_ids";
    if (!outer.has(key))
      outer.report(key, "is missing and required: the target's layers that the drafter reads");
    std::vector<int> taps = outer.integers_if(key, 0, kLayersMax).value_or(std::vector<int>{});
    for (int& tap : taps) --tap;
    if (outer.has(key)) check_taps(outer, key, taps, 1, target_layers);
    return taps;
  }
  check_same_in_both_places(outer, "target_layer_ids");
  const ConfigReader place = place_of(outer, "target_layer_ids", format == DrafterFormat::DeepSpec);
  if (place.has("target_layer_ids")) {
    std::vector<int> taps =
        place.integers_if("target_layer_ids", -1, kLayersMax).value_or(std::vector<int>{});
    check_taps(place, "target_layer_ids", taps, 0, target_layers);
    return taps;
  }
  if (format == DrafterFormat::DeepSpec) {
    outer.report("target_layer_ids", "is missing and required: the target's layers that the drafter reads");
    return {};
  }
  if (!target_layers) {
    outer.require(outer.sizes_only(), "num_target_layers",
                  "is missing and required where target_layer_ids is absent");
    return {};
  }
  std::vector<int> taps = derive_default_taps(*target_layers, drafter_layers);
  check_taps(place, "target_layer_ids", taps, 0, target_layers);
  return taps;
}

std::optional<MarkovShape> read_markov(const ConfigReader& outer, DrafterFormat format) {
  const bool by_speculators_dflash = format == DrafterFormat::Speculators &&
                                     outer.text_if("speculators_model_type").value_or("") == "dflash";
  if (format == DrafterFormat::Zlab || by_speculators_dflash) return std::nullopt;
  const ConfigReader place = place_of(outer, "markov_rank", true);
  const std::int64_t rank = place.integer("markov_rank", 0, kWidthMax);
  const std::size_t kind =
      place_of(outer, "markov_head_type", true).choice_if("markov_head_type", kHeadTypes).value_or(0);
  if (rank == 0) return std::nullopt;
  return MarkovShape{.kind = static_cast<MarkovKind>(kind), .rank = rank};
}

std::optional<ConfidenceShape> read_confidence(const ConfigReader& outer, DrafterFormat format,
                                               const std::optional<MarkovShape>& markov,
                                               const DrafterContext& context) {
  if (format == DrafterFormat::Zlab) return std::nullopt;
  const bool by_tensors = format == DrafterFormat::Speculators && knows_names(context) &&
                          holds_name(context, "confidence_head.proj.weight");
  if (!outer.flag("enable_confidence_head", by_tensors)) return std::nullopt;
  outer.require(format == DrafterFormat::Speculators || outer.has("confidence_head_with_markov"),
                "confidence_head_with_markov", "is missing and required beside enable_confidence_head");
  const bool with_markov = outer.flag("confidence_head_with_markov", false);
  outer.require(!with_markov || markov.has_value(), "confidence_head_with_markov",
                "must be false where there is no Markov head (markov_rank 0)");
  return ConfidenceShape{.with_markov = with_markov};
}

// Which layers slide, and who sees whom inside the block.
std::vector<DraftLayerShape> read_masks(const ConfigReader& outer, const ConfigReader& text,
                                        DrafterFormat format, int layer_count) {
  std::vector<DraftLayerShape> masks(static_cast<std::size_t>(layer_count));
  if (format == DrafterFormat::Speculators) {
    const bool causal = !outer.flag("sliding_window_non_causal", false);
    const std::vector<std::optional<std::int64_t>> windows = read_layer_windows(text, layer_count);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      if (windows[i]) masks[i] = {.window = windows[i], .causal_block = causal};
    }
    return masks;
  }
  // DeepSpec evaluates without a mask: a sliding entry means nothing there.
  const auto types = read_layer_types(text, layer_count, kLayerKinds);
  if (format == DrafterFormat::DeepSpec || outer.sizes_only()) return masks;
  const bool slides = types && std::count(types->begin(), types->end(), std::size_t{1}) > 0;
  text.require(!slides, "layer_types", "sliding layers of this format are not read yet");
  if (const std::optional<ConfigReader> settings = outer.object_if("dflash_config")) {
    settings->require(!settings->flag("use_swa", false), "use_swa",
                      "sliding layers of this format are not read yet");
    settings->require(!settings->flag("attention_sink_bias", false), "attention_sink_bias",
                      "is not read yet");
    for (DraftLayerShape& mask : masks) mask.causal_block = settings->flag("causal", false);
  }
  return masks;
}

// Gemma 4: the drafter's layers are built like the target's global ones.
ModelShape read_gemma_backbone(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape backbone = read_gemma4(text, outer);
  backbone.tied_head = false;
  backbone.per_layer_inputs.reset();
  return backbone;
}

ModelShape read_backbone(const ConfigReader& text, const ConfigReader& outer) {
  if (outer.sizes_only() && text.text_if("model_type").value_or("").starts_with("gemma4")) {
    return read_gemma_backbone(text, outer);
  }
  const std::size_t type = text.choice_if("model_type", kBackbones).value_or(0);
  text.require(text.has("model_type"), "model_type",
               "is missing and required: must be " + list_choices(kBackbones));
  ModelShape backbone = read_qwen3_body(text, outer, "qwen3");
  backbone.tied_head = false;  // what the file holds counts, and the target's where it holds none
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  const GroupedAttention attention =
      read_qwen3_attention(text, type == 0 ? std::optional<std::int64_t>(128) : std::nullopt);
  // A drafter of an MoE target repeats the expert keys; its own MLP is dense all the same.
  const DenseMlp mlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  backbone.layers.assign(static_cast<std::size_t>(layer_count), {.attention = attention, .mlp = mlp});
  return backbone;
}

void check_speculators_kind(const ConfigReader& outer) {
  const std::optional<std::size_t> kind = outer.choice_if("speculators_model_type", kAlgorithms);
  const std::optional<ConfigReader> settings = outer.object_if("speculators_config");
  const std::optional<std::string> algorithm = settings ? settings->text_if("algorithm") : std::nullopt;
  outer.require(outer.has("speculators_model_type"), "speculators_model_type",
                "is missing and required: must be " + list_choices(kAlgorithms));
  if (kind && algorithm && *algorithm != kAlgorithms[*kind]) {
    settings->report("algorithm", "differs from speculators_model_type = " + std::string(kAlgorithms[*kind]));
  }
}

BlockLayout read_layout(const ConfigReader& outer, DrafterFormat format) {
  const bool by_format = format == DrafterFormat::DeepSpec;
  const bool anchor_first = outer.flag("sample_from_anchor", by_format);
  outer.require(
      format == DrafterFormat::Speculators || anchor_first == by_format, "sample_from_anchor",
      by_format ? "must be true or absent in this format" : "must be false or absent in this format");
  return anchor_first ? BlockLayout::AnchorFirst : BlockLayout::OnePlusN;
}

std::optional<std::int64_t> read_draft_vocabulary(const ConfigReader& outer, std::int64_t vocabulary) {
  const std::optional<std::int64_t> rows = outer.integer_if("draft_vocab_size", 1, kVocabularyMax);
  if (!rows) return std::nullopt;
  outer.require(*rows <= vocabulary, "draft_vocab_size",
                "must be at most vocab_size = " + std::to_string(vocabulary));
  return *rows < vocabulary ? rows : std::nullopt;
}

void read_block(const ConfigReader& outer, DrafterShape& shape) {
  const std::int64_t vocabulary = shape.backbone.vocabulary;
  const bool top_first = shape.format == DrafterFormat::DeepSpec;
  check_same_in_both_places(outer, "block_size");
  check_same_in_both_places(outer, "mask_token_id");
  const bool fill_in = shape.layout == BlockLayout::OnePlusN;
  shape.block_size =
      static_cast<int>(place_of(outer, "block_size", true).integer("block_size", fill_in ? 2 : 1, kBlockMax));
  const ConfigReader mask_place = place_of(outer, "mask_token_id", top_first);
  shape.mask_token = static_cast<base::TokenId>(mask_place.integer("mask_token_id", 0, kVocabularyMax));
  mask_place.require(shape.mask_token < vocabulary, "mask_token_id",
                     "must be below vocab_size = " + std::to_string(vocabulary));
}

}  // namespace

std::optional<DrafterFormat> identify_block_drafter(const base::Json& config) {
  const auto has = [&](std::string_view key) {
    const base::Json* value = config.find(key);
    return value != nullptr && !value->is_null();
  };
  if (has("speculators_model_type") || has("speculators_config") || has("transformer_layer_config")) {
    const base::Json* kind = config.find("speculators_model_type");
    const std::string* name = kind == nullptr ? nullptr : kind->string();
    if (name != nullptr && std::find(kAlgorithms.begin(), kAlgorithms.end(), *name) == kAlgorithms.end()) {
      return std::nullopt;  // another method of that project
    }
    return DrafterFormat::Speculators;
  }
  const bool has_head = has("markov_rank") || has("markov_head_type") || has("enable_confidence_head");
  if (has_head || (has("target_layer_ids") && has("block_size"))) return DrafterFormat::DeepSpec;
  const base::Json* nested = config.find("dflash_config");
  if (nested == nullptr || nested->is_null()) return std::nullopt;
  const base::Json* projector = nested->find("projector_type");
  const bool dspark =
      projector != nullptr && projector->string() != nullptr && *projector->string() == "dspark";
  return dspark || nested->find("markov_rank") != nullptr ? DrafterFormat::DeepSpec : DrafterFormat::Zlab;
}

DrafterShape read_block_drafter(const ConfigReader& outer, DrafterFormat format,
                                const DrafterContext& context) {
  const bool nested = format == DrafterFormat::Speculators;
  if (nested) check_speculators_kind(outer);
  std::optional<ConfigReader> inner = nested ? outer.object_if("transformer_layer_config") : std::nullopt;
  outer.require(!nested || inner || outer.has("transformer_layer_config"), "transformer_layer_config",
                "is missing and required: the drafter's own layers");
  const ConfigReader text = inner.value_or(outer);
  DrafterShape shape{.format = format,
                     .layout = read_layout(outer, format),
                     .block_size = 1,
                     .mask_token = 0,
                     .taps = {},
                     .backbone = read_backbone(text, outer),
                     .layer_masks = {},
                     .markov = read_markov(outer, format),
                     .confidence = {},
                     .draft_vocabulary = {},
                     .own_embedding = format != DrafterFormat::Zlab,
                     .own_head = format != DrafterFormat::Zlab,
                     .target_layers = {}};
  const int layer_count = static_cast<int>(shape.backbone.layers.size());
  read_block(outer, shape);
  if (const auto layers = outer.integer_if("num_target_layers", 1, kLayersMax)) {
    shape.target_layers = static_cast<int>(*layers);
  }
  std::optional<int> target_layers = shape.target_layers;
  if (!target_layers && context.target_layer_count > 0) target_layers = context.target_layer_count;
  shape.taps = read_taps(outer, format, layer_count, target_layers);
  shape.layer_masks = read_masks(outer, text, format, layer_count);
  shape.confidence = read_confidence(outer, format, shape.markov, context);
  shape.draft_vocabulary = read_draft_vocabulary(outer, shape.backbone.vocabulary);
  if (const auto width = outer.integer_if("target_hidden_size", 1, kWidthMax)) {
    outer.require(*width == shape.backbone.hidden_width, "target_hidden_size",
                  "must equal the drafter's hidden_size = " + std::to_string(shape.backbone.hidden_width));
  }
  if (knows_names(context)) {
    shape.own_embedding = holds_name(context, "embed_tokens.weight");
    shape.own_head = holds_name(context, "lm_head.weight");
    outer.require(!shape.draft_vocabulary || shape.own_head, "draft_vocab_size",
                  "a reduced vocabulary needs lm_head.weight, which the file does not hold");
  }
  return shape;
}

std::string taps_key(const base::Json& config, DrafterFormat format) {
  if (format == DrafterFormat::Speculators) return "aux_hidden_state_layer_ids";
  const base::Json* top = config.find("target_layer_ids");
  const base::Json* nested = config.find("dflash_config");
  const bool at_top = top != nullptr && !top->is_null();
  const bool inside = nested != nullptr && nested->find("target_layer_ids") != nullptr;
  const bool top_counts = format == DrafterFormat::DeepSpec ? at_top || !inside : at_top && !inside;
  return top_counts ? "target_layer_ids" : "dflash_config.target_layer_ids";
}

std::vector<int> derive_default_taps(int target_layer_count, int count) {
  if (count == 1) return {target_layer_count / 2};
  std::vector<int> taps;
  const int span = target_layer_count - 4;
  const int steps = count - 1;
  for (int i = 0; i < count; ++i) {
    const int numerator = i * span + steps;  // of 1 + i * span / steps
    int whole = numerator / steps;
    const int rest = numerator % steps;
    if (2 * rest > steps || (2 * rest == steps && whole % 2 != 0)) ++whole;
    taps.push_back(whole);
  }
  return taps;
}

}  // namespace outrider::checkpoint
