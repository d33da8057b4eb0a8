// Facts of drafters with a config of their own.
#include <algorithm>
#include <functional>

#include "checkpoint/derive_facts.h"
#include "checkpoint/drafter_reader.h"
#include "checkpoint/drafter_tensors.h"
#include "checkpoint/families.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

std::string format_name(DrafterFormat format) {
  switch (format) {
    case DrafterFormat::DeepSpec:
      return "DeepSpec standalone";
    case DrafterFormat::Speculators:
      return "speculators";
    case DrafterFormat::Zlab:
      return "z-lab";
  }
  return "";
}

std::string_view name_of(MarkovKind kind) {
  constexpr std::string_view kNames[] = {"vanilla", "gated", "rnn"};
  return kNames[static_cast<std::size_t>(kind)];
}

// A class of a target's family beside another model_type: two statements, one is wrong. Drafters' own class
// names say nothing.
void check_class(const ConfigReader& outer) {
  const std::optional<std::vector<std::string>> classes = outer.texts_if("architectures");
  const std::optional<std::string> type = outer.text_if("model_type");
  if (!classes || classes->empty() || !type) return;
  const auto holds = [](std::span<const std::string_view> names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Family& family : families()) {
    if (!holds(family.architectures, classes->front())) continue;
    outer.require(holds(family.model_types, *type), "architectures",
                  "belongs to another family than model_type = " + *type);
  }
}

// What the file proposes as the number of drafts.
std::optional<int> read_proposed_tokens(const ConfigReader& outer) {
  const std::optional<ConfigReader> settings = outer.object_if("speculators_config");
  const base::Json* methods = settings ? settings->find("proposal_methods") : nullptr;
  if (methods == nullptr || methods->array() == nullptr || methods->array()->empty()) return std::nullopt;
  const base::Json* tokens = methods->array()->front().find("speculative_tokens");
  if (tokens == nullptr || tokens->integer() == nullptr) return std::nullopt;
  return *tokens->integer() >= 1 && *tokens->integer() <= kBlockMax
             ? std::optional(static_cast<int>(*tokens->integer()))
             : std::nullopt;
}

Facts block_drafter_facts(const ConfigReader& outer, DrafterFormat format, const FactsOptions& options) {
  const DrafterShape shape = read_block_drafter(outer, format, {.tensor_names = &options.tensor_names});
  const ConfigReader text = format == DrafterFormat::Speculators
                                ? outer.object_if("transformer_layer_config").value_or(outer)
                                : outer;
  ModelShape backbone = shape.backbone;
  for (std::size_t i = 0; i < backbone.layers.size(); ++i) {
    if (auto* attention = std::get_if<GroupedAttention>(&backbone.layers[i].attention)) {
      attention->window = shape.layer_masks[i].window;
    }
  }
  const std::string kind = outer.text_if("speculators_model_type").value_or("");
  const bool plain = format == DrafterFormat::Zlab || kind == "dflash";
  const bool causal =
      std::any_of(shape.layer_masks.begin(), shape.layer_masks.end(),
                  [](const DraftLayerShape& mask) { return mask.causal_block && !mask.window; });
  DrafterFacts drafter{.method = plain ? DraftMethod::DFlash : DraftMethod::DSpark,
                       .format = format_name(format),
                       .stages = static_cast<int>(backbone.layers.size()),
                       .block_size = shape.block_size,
                       .anchor_first = shape.layout == BlockLayout::AnchorFirst,
                       .drafts_per_block = shape.drafts_per_block(),
                       .default_tokens = read_proposed_tokens(outer),
                       .taps_key = taps_key(outer.json(), format),
                       .mask_token = shape.mask_token,
                       .confidence = shape.confidence.has_value(),
                       .confidence_with_markov = shape.confidence && shape.confidence->with_markov,
                       .causal = causal,
                       .target_layers = shape.target_layers,
                       .draft_vocabulary = shape.draft_vocabulary.value_or(backbone.vocabulary),
                       .own_embedding = shape.own_embedding,
                       .own_head = shape.own_head};
  if (!shape.taps.empty()) {
    drafter.taps = drafter.taps_as_written = shape.taps;
    if (format == DrafterFormat::Speculators) {
      for (int& tap : drafter.taps_as_written) ++tap;
    }
    drafter.context_width = static_cast<std::int64_t>(shape.taps.size()) * backbone.hidden_width;
  }
  if (shape.markov)
    drafter.markov =
        MarkovFacts{.type = std::string(name_of(shape.markov->kind)), .rank = shape.markov->rank};
  TensorLister lister(backbone.weight_dtype);
  list_drafter_tensors(shape, lister);
  Facts facts{.model = derive_model_facts(backbone, text, outer),
              .is_drafter = true,
              .drafter = std::move(drafter),
              .tensors = std::move(lister).take()};
  facts.model.attention = "gqa";
  return facts;
}

// Kimi-K3's DSpark with latent attention. Here num_target_layers counts the taps; target_num_hidden_layers is
// the target's.
Facts latent_dspark_facts(const ConfigReader& outer) {
  constexpr std::string_view kRopeKinds[] = {"default", "yarn"};
  ModelShape shape = read_body(outer, outer, "deepseek_v3", kRopeKinds);
  shape.tied_head = false;
  const LatentAttention attention = read_latent_attention(outer);
  for (const char* key : {"mla_use_nope", "mla_use_output_gate", "mla_use_qk_norm", "dspark_bonus_anchor"}) {
    outer.require(!outer.flag(key, false), key, "must be false: no drafter of this kind is known");
  }
  const DenseMlp mlp{.width = outer.integer("intermediate_size", 1, kVocabularyMax)};
  const int layer_count = outer.count("num_hidden_layers", kLayersMax);
  shape.layers.assign(static_cast<std::size_t>(layer_count), {.attention = attention, .mlp = mlp});
  const LatentDrafterShape drafter = read_latent_drafter(outer, shape);
  DrafterFacts facts{.method = DraftMethod::DSpark,
                     .format = "k3_dspark (MLA)",
                     .stages = layer_count,
                     .block_size = drafter.block_size,
                     .drafts_per_block = drafter.block_size,
                     .taps = drafter.taps,
                     .taps_as_written = drafter.taps,
                     .taps_key = "target_layer_ids",
                     .mask_token = drafter.mask_token,
                     .confidence = drafter.confidence,
                     .confidence_with_markov = drafter.confidence,
                     .context_width = static_cast<std::int64_t>(drafter.taps.size()) * drafter.target_width,
                     .target_layers = drafter.target_layers,
                     .target_hidden_width = drafter.target_width,
                     .draft_vocabulary = shape.vocabulary,
                     .own_embedding = true,
                     .own_head = false};
  if (drafter.markov_rank > 0) facts.markov = MarkovFacts{.type = "vanilla", .rank = drafter.markov_rank};
  TensorLister lister(shape.weight_dtype);
  list_latent_drafter_tensors(shape, drafter, lister);
  return {.model = derive_model_facts(shape, outer, outer),
          .is_drafter = true,
          .drafter = std::move(facts),
          .tensors = std::move(lister).take()};
}

// EAGLE-3: one layer (its q, k, v read two rows beside each other) over a projection of three of the target's
// streams.
Facts eagle3_facts(const ConfigReader& outer) {
  const bool nested = outer.has("transformer_layer_config");
  const ConfigReader text = outer.object_if("transformer_layer_config").value_or(outer);
  ModelShape shape = read_llama(text, outer);
  shape.tied_head = false;
  const std::optional<ConfigReader> settings = outer.object_if("eagle_config");
  const ConfigReader place = settings.value_or(outer);
  constexpr std::string_view kTaps = "eagle_aux_hidden_state_layer_ids";
  const bool in_settings = settings && settings->has(kTaps);
  const std::optional<std::vector<int>> taps =
      (in_settings ? place : outer).integers_if(kTaps, 0, kLayersMax);
  if (taps) {
    (in_settings ? place : outer)
        .require(!taps->empty() && std::is_sorted(taps->begin(), taps->end(), std::less_equal<>()), kTaps,
                 "must increase strictly");
  }
  const std::int64_t streams = taps ? std::max<std::int64_t>(static_cast<std::int64_t>(taps->size()), 1) : 3;
  const std::int64_t target_width =
      outer.integer_if("target_hidden_size", 1, kWidthMax).value_or(shape.hidden_width);
  const std::int64_t rows =
      outer.integer_if("draft_vocab_size", 1, kVocabularyMax).value_or(shape.vocabulary);
  outer.require(rows <= shape.vocabulary, "draft_vocab_size",
                "must be at most vocab_size = " + std::to_string(shape.vocabulary));
  DrafterFacts facts{.method = DraftMethod::Eagle3,
                     .format = nested ? "speculators" : "SpecForge/yuhuili",
                     .stages = static_cast<int>(shape.layers.size()),
                     .default_tokens = read_proposed_tokens(outer),
                     .taps = taps,
                     .taps_as_written = taps.value_or(std::vector<int>{}),
                     .taps_key = std::string(in_settings ? "eagle_config." : "") + std::string(kTaps),
                     .tap_point = TapPoint::LayerInput,
                     .causal = true,
                     .context_width = streams * target_width,
                     .attention_input = 2 * shape.hidden_width,
                     .draft_vocabulary = rows,
                     .own_embedding = nested,
                     .own_head = true};
  if (outer.has("target_hidden_size")) facts.target_hidden_width = target_width;
  TensorLister lister(shape.weight_dtype);
  list_eagle3_tensors(
      shape, {.fused_width = *facts.context_width, .draft_vocabulary = rows, .own_embedding = nested},
      lister);
  Facts all{.model = derive_model_facts(shape, text, outer),
            .is_drafter = true,
            .drafter = std::move(facts),
            .tensors = std::move(lister).take()};
  if (rows < shape.vocabulary) all.model.widths.push_back({.what = "draft vocabulary", .width = rows});
  return all;
}

bool is_eagle3(const ConfigReader& outer) {
  if (outer.has("eagle_config") || outer.has("draft_vocab_size")) return true;
  if (outer.find("speculators_model_type") != nullptr) return true;
  const base::Json* classes = outer.find("architectures");
  if (classes == nullptr || classes->array() == nullptr || classes->array()->empty()) return false;
  const std::string* name = classes->array()->front().string();
  return name != nullptr && name->find("Eagle3") != std::string::npos;
}

}  // namespace

std::optional<Facts> read_drafter_facts(const ConfigReader& outer, const FactsOptions& options) {
  const base::Json* type = outer.find("model_type");
  const std::string* name = type == nullptr ? nullptr : type->string();
  if (name != nullptr && *name == "k3_dspark") return latent_dspark_facts(outer);
  const std::optional<DrafterFormat> format = identify_block_drafter(outer.json());
  if (format) {
    check_class(outer);
    return block_drafter_facts(outer, *format, options);
  }
  if (is_eagle3(outer)) {
    check_class(outer);
    return eagle3_facts(outer);
  }
  return std::nullopt;
}

}  // namespace outrider::checkpoint
