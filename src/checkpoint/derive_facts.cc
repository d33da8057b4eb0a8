#include "checkpoint/derive_facts.h"

#include <algorithm>
#include <numeric>

namespace outrider::checkpoint {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

const MoeMlp* experts_of(const MlpShape& mlp) {
  if (const auto* both = std::get_if<DenseBesideMoe>(&mlp)) return &both->moe;
  return std::get_if<MoeMlp>(&mlp);
}

LayerFacts facts_of_layer(const LayerShape& layer) {
  LayerFacts facts{
      .attention = AttentionKind::Full, .compression_ratio = {}, .moe = experts_of(layer.mlp) != nullptr};
  const auto compressed = [&](std::int64_t ratio) {
    facts.attention = AttentionKind::Compressed;
    facts.compression_ratio = ratio;
  };
  std::visit(Overloaded{
                 [&](const GroupedAttention& a) {
                   facts.attention = a.window ? AttentionKind::Sliding : AttentionKind::Full;
                 },
                 [&](const LatentAttention&) { facts.attention = AttentionKind::Latent; },
                 [&](const GatedDeltaAttention&) { facts.attention = AttentionKind::GatedDelta; },
                 [&](const KimiDeltaAttention&) { facts.attention = AttentionKind::KimiDelta; },
                 [&](const SharedVectorAttention& a) {
                   std::visit(
                       Overloaded{[&](const WindowOnly&) { facts.attention = AttentionKind::WindowOnly; },
                                  [&](const PlainGroups& c) { compressed(c.ratio); },
                                  [&](const OverlappingGroups& c) { compressed(c.ratio); },
                                  [&](const SharedEntries& c) { compressed(c.ratio); }},
                       a.compression);
                 },
             },
             layer.attention);
  return facts;
}

// Adds one layer's rows to the group that keeps rows of the same form.
void add_rows(std::vector<KvGroup>& groups, KvGroup rows, int layer) {
  const auto same = std::find_if(groups.begin(), groups.end(), [&](KvGroup group) {
    group.layers.clear();
    return group == rows;
  });
  if (same != groups.end()) {
    same->layers.push_back(layer);
  } else {
    rows.layers = {layer};
    groups.push_back(std::move(rows));
  }
}

// The raw window, and the entries that this layer itself keeps.
void add_shared_vector_rows(std::vector<KvGroup>& groups, const SharedVectorAttention& a, int layer,
                            int index) {
  const auto entries = [&](std::int64_t elements, std::int64_t ratio) {
    add_rows(groups, {.kind = KvKind::Latent, .layers = {}, .elements = elements, .per_tokens = ratio},
             layer);
  };
  add_rows(groups, {.kind = KvKind::Latent, .layers = {}, .elements = a.head_width, .window = a.window},
           layer);
  if (const auto* plain = std::get_if<PlainGroups>(&a.compression)) entries(a.head_width, plain->ratio);
  if (const auto* overlap = std::get_if<OverlappingGroups>(&a.compression)) {
    entries(a.head_width + overlap->indexer.head_width, overlap->ratio);
  }
  const auto* shared = std::get_if<SharedEntries>(&a.compression);
  if (shared != nullptr && shared->source == index)
    entries(a.head_width + shared->indexer.head_width, shared->ratio);
}

std::string attention_name(const std::vector<LayerFacts>& layers) {
  const auto any = [&](AttentionKind kind) {
    return std::any_of(layers.begin(), layers.end(),
                       [&](const LayerFacts& layer) { return layer.attention == kind; });
  };
  if (any(AttentionKind::WindowOnly) || any(AttentionKind::Compressed)) return "shared-kv-compressed";
  if (any(AttentionKind::KimiDelta)) return "hybrid-kda-mla";
  if (any(AttentionKind::GatedDelta)) return "hybrid-gdn-gqa";
  if (any(AttentionKind::Latent)) return "mla";
  return any(AttentionKind::Sliding) ? "gqa-sliding" : "gqa";
}

// Heads of the layers with grouped attention. Where global layers differ from sliding ones, theirs stand
// apart.
void set_grouped_heads(const ModelShape& shape, ModelFacts& facts) {
  const GroupedAttention* first = nullptr;
  const GroupedAttention* sliding = nullptr;
  const GroupedAttention* full = nullptr;
  for (const LayerShape& layer : shape.layers) {
    const auto* attention = std::get_if<GroupedAttention>(&layer.attention);
    if (attention == nullptr) continue;
    if (first == nullptr) first = attention;
    const GroupedAttention*& kind = attention->window ? sliding : full;
    if (kind == nullptr) kind = attention;
  }
  if (first == nullptr) return;
  const bool differ = sliding != nullptr && full != nullptr &&
                      (sliding->head_width != full->head_width || sliding->kv_heads != full->kv_heads);
  const GroupedAttention& main = differ ? *sliding : *first;
  facts.heads = main.heads;
  facts.kv_heads = main.kv_heads;
  facts.head_width = main.head_width;
  if (sliding != nullptr) facts.window = sliding->window;
  if (differ) {
    facts.global_head_width = full->head_width;
    facts.global_kv_heads = full->kv_heads;
  }
}

void set_heads(const ModelShape& shape, ModelFacts& facts) {
  set_grouped_heads(shape, facts);
  for (const LayerShape& layer : shape.layers) {
    if (const auto* latent = std::get_if<LatentAttention>(&layer.attention)) {
      facts.heads = facts.kv_heads = latent->heads;
      facts.kv_rank = latent->kv_rank;
      facts.rope_width = latent->rope_width;
      facts.q_rank = latent->query_rank;
    } else if (const auto* vector = std::get_if<SharedVectorAttention>(&layer.attention)) {
      facts.heads = vector->heads;
      facts.head_width = vector->head_width;
      facts.rope_width = vector->rope_width;
      facts.q_rank = vector->query_rank;
      facts.output_groups = vector->output_groups;
      facts.window = vector->window;
    }
  }
}

void set_special_layers(const ModelShape& shape, ModelFacts& facts) {
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    const MoeMlp* moe = experts_of(shape.layers[i].mlp);
    if (moe != nullptr && moe->hash_routed) facts.hash_layers.push_back(layer);
    if (moe != nullptr && moe->latent) facts.latent_width = moe->latent->width;
    const auto* vector = std::get_if<SharedVectorAttention>(&shape.layers[i].attention);
    const auto* shared = vector == nullptr ? nullptr : std::get_if<SharedEntries>(&vector->compression);
    if (shared == nullptr) continue;
    if (shared->source == layer) facts.kv_source_layers.push_back(layer);
    if (shared->index_source) facts.index_source_layers.push_back(layer);
  }
  if (shape.engram) facts.engram_layers = shape.engram->layers;
}

// What a share of a width must be a multiple of.
std::int64_t block_of(const LinearFormat& format) {
  if (const auto* blocks = std::get_if<Fp8Blocks>(&format)) return std::max(blocks->rows, blocks->columns);
  if (const auto* groups = std::get_if<Fp4Groups>(&format)) return groups->group;
  if (const auto* groups = std::get_if<Int4Groups>(&format)) return groups->group;
  return 1;
}

QuantFacts facts_of(const Quantisation& quantisation) {
  QuantFacts facts{.method = quantisation.method};
  facts.ignored = quantisation.ignored;
  facts.sizes_known = quantisation.sizes_known;
  if (const auto* blocks = std::get_if<Fp8Blocks>(&quantisation.dense)) {
    facts.block_rows = blocks->rows;
    facts.block_columns = blocks->columns;
  } else {
    facts.block_columns = block_of(quantisation.experts);
  }
  return facts;
}

}  // namespace

std::vector<KvGroup> derive_kv_groups(const std::vector<LayerShape>& layers, int first) {
  std::vector<KvGroup> groups;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const int layer = first + static_cast<int>(i);
    std::visit(Overloaded{
                   [&](const GroupedAttention& a) {
                     if (a.reads_earlier_rows) return;
                     // Keys and values, also where they start as the same projection: they are normed and
                     // rotated apart.
                     const std::int64_t elements = std::int64_t{2} * a.kv_heads * a.head_width;
                     add_rows(groups,
                              {.kind = KvKind::PerHead,
                               .layers = {},
                               .kv_heads = a.kv_heads,
                               .elements = elements,
                               .window = a.window},
                              layer);
                   },
                   [&](const LatentAttention& a) {
                     add_rows(groups,
                              {.kind = KvKind::Latent, .layers = {}, .elements = a.kv_rank + a.rope_width},
                              layer);
                   },
                   [&](const SharedVectorAttention& a) {
                     add_shared_vector_rows(groups, a, layer, static_cast<int>(i));
                   },
                   [&](const GatedDeltaAttention&) {
                     add_rows(groups, {.kind = KvKind::Recurrent, .layers = {}}, layer);
                   },
                   [&](const KimiDeltaAttention&) {
                     add_rows(groups, {.kind = KvKind::Recurrent, .layers = {}}, layer);
                   },
               },
               layers[i].attention);
  }
  return groups;
}

std::optional<MoeFacts> derive_moe_facts(const std::vector<LayerShape>& layers, int first) {
  std::optional<MoeFacts> facts;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const MoeMlp* moe = experts_of(layers[i].mlp);
    if (moe == nullptr) continue;
    if (!facts) {
      facts = MoeFacts{.experts = moe->experts,
                       .experts_per_token = moe->experts_per_token,
                       .shared_experts = moe->shared ? moe->shared->count : 0,
                       .groups = moe->groups ? moe->groups->groups : 1,
                       .expert_width = moe->expert_width,
                       .layers = {},
                       .dense_beside = std::holds_alternative<DenseBesideMoe>(layers[i].mlp)};
    }
    facts->layers.push_back(first + static_cast<int>(i));
  }
  return facts;
}

std::vector<CutWidth> derive_cut_widths(const ModelShape& shape) {
  const LinearFormat dense = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  const LinearFormat expert = shape.quantisation ? shape.quantisation->experts : LinearFormat{};
  std::vector<CutWidth> widths = {{.what = "vocabulary", .width = shape.vocabulary}};
  const auto add = [&](const char* what, std::int64_t width, const LinearFormat& format) {
    const CutWidth entry{.what = what, .width = width, .block = block_of(format)};
    if (std::find(widths.begin(), widths.end(), entry) == widths.end()) widths.push_back(entry);
  };
  for (const LayerShape& layer : shape.layers) {
    if (const auto* mlp = std::get_if<DenseMlp>(&layer.mlp)) add("dense mlp", mlp->width, dense);
    if (const auto* both = std::get_if<DenseBesideMoe>(&layer.mlp))
      add("dense mlp", both->dense.width, dense);
    const MoeMlp* moe = experts_of(layer.mlp);
    if (moe == nullptr) continue;
    add("expert", moe->expert_width, expert);
    if (moe->shared) add("shared expert", moe->shared->width, dense);
  }
  return widths;
}

ModelFacts derive_model_facts(const ModelShape& shape, const ConfigReader& text, const ConfigReader& outer) {
  ModelFacts facts{
      .model_type = outer.text_if("model_type").value_or(text.text_if("model_type").value_or("")),
      .architectures = outer.texts_if("architectures").value_or(std::vector<std::string>{}),
      .attention = "",
      .layer_count = static_cast<int>(shape.layers.size()),
      .hidden_width = shape.hidden_width,
      .vocabulary = shape.vocabulary,
      .tied_head = shape.tied_head,
      .heads = 1,
      .kv_heads = 1,
      .moe = derive_moe_facts(shape.layers, 0),
      .dtype = "",
      .rope_scaled = !std::holds_alternative<PlainRope>(shape.rope.scaling),
      .kv = derive_kv_groups(shape.layers, 0),
      .widths = derive_cut_widths(shape),
  };
  if (text.has("max_position_embeddings")) facts.positions_max = shape.positions_max;
  for (const ConfigReader* reader : {&outer, &text}) {
    for (const char* key : {"dtype", "torch_dtype"}) {
      if (const base::Json* value = reader->find(key); value != nullptr && value->string() != nullptr) {
        facts.dtype = *value->string();
      }
    }
  }
  for (const LayerShape& layer : shape.layers) facts.layers.push_back(facts_of_layer(layer));
  facts.attention = attention_name(facts.layers);
  set_heads(shape, facts);
  set_special_layers(shape, facts);
  if (shape.quantisation) facts.quantisation = facts_of(*shape.quantisation);
  std::optional<ConfigReader> packing = text.object_if("quantization_config");
  if (!packing) packing = outer.object_if("quantization_config");
  if (packing && packing->text_if("quant_method") == "outrider") {
    const base::Json* bits = packing->find("bits");
    if (bits != nullptr && bits->integer() != nullptr && (*bits->integer() == 4 || *bits->integer() == 8))
      facts.packed_bits = static_cast<int>(*bits->integer());
  }
  return facts;
}

std::optional<DrafterFacts> derive_inside_drafter(const ModelShape& shape) {
  if (!shape.inside_drafter || shape.layers.empty()) return std::nullopt;
  const int first = static_cast<int>(shape.layers.size());
  DrafterFacts facts{
      .method = DraftMethod::Mtp, .format = "", .inside_target = true, .draft_vocabulary = shape.vocabulary};
  std::vector<LayerShape> stages;
  if (const auto* drafter = std::get_if<NativeDspark>(&*shape.inside_drafter)) {
    SharedVectorAttention attention = std::get<SharedVectorAttention>(shape.layers.front().attention);
    attention.compression = WindowOnly{};
    stages.assign(static_cast<std::size_t>(drafter->stages), {.attention = attention, .mlp = drafter->moe});
    facts.method = DraftMethod::DSpark;
    facts.format = "native mtp.*";
    facts.block_size = facts.drafts_per_block = drafter->block_size;
    facts.taps = facts.taps_as_written = drafter->taps;
    facts.taps_key = "dspark_target_layer_ids";
    facts.tap_point = drafter->taps_are_inputs ? TapPoint::LayerInput : TapPoint::LayerOutput;
    facts.mask_token = drafter->noise_token;
    if (drafter->markov_rank > 0) facts.markov = MarkovFacts{.type = "vanilla", .rank = drafter->markov_rank};
    facts.confidence = facts.confidence_with_markov = true;
    facts.context_width = static_cast<std::int64_t>(drafter->taps.size()) * shape.hidden_width;
  } else {
    const int count = std::get<SerialMtp>(*shape.inside_drafter).stages;
    // Hybrids: the stage is a layer of the kind that keeps rows.
    LayerShape stage = shape.layers.back();
    if (auto* vector = std::get_if<SharedVectorAttention>(&stage.attention))
      vector->compression = WindowOnly{};
    stages.assign(static_cast<std::size_t>(count), stage);
    facts.format = "serial MTP";
    facts.predict_depth = count;
    facts.causal = true;
  }
  facts.stages = static_cast<int>(stages.size());
  for (int i = 0; i < facts.stages; ++i) facts.layer_ids.push_back(first + i);
  facts.moe = derive_moe_facts(stages, first);
  facts.kv = derive_kv_groups(stages, first);
  return facts;
}

}  // namespace outrider::checkpoint
