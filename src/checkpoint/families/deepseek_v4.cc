// DeepSeek-V4 and V4.1: one shared key-and-value vector with compressed entries, hyper-connections,
// hash-routed layers (V4), shared sources and n-gram tables (V4.1), and drafter stages mtp.N inside the
// checkpoint (the published inference code).
#include <algorithm>
#include <array>

#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 2> kRopeKinds = {"default", "yarn"};
constexpr std::array<std::string_view, 1> kActivations = {"silu"};
constexpr std::array<std::string_view, 2> kExpertTypes = {"fp4", "fp8"};
constexpr std::int64_t kFp4Group = 32;
constexpr std::int64_t kOverlapRatio =
    4;  // this ratio alone overlaps and is indexed; every other one is plain
const LinearNames kNames{.weight = ".weight", .scale = ".scale"};

// Experts are fp4 beside fp8 layers; Flash does not even say so.
std::optional<Quantisation> read_formats(const ConfigReader& text, const ConfigReader& outer) {
  std::optional<Quantisation> quantisation = read_quantisation(text, outer);
  if (!quantisation || quantisation->method != "fp8") return quantisation;
  std::optional<ConfigReader> settings = text.object_if("quantization_config");
  if (!settings) settings = outer.object_if("quantization_config");
  std::optional<std::size_t> kind = text.choice_if("expert_dtype", kExpertTypes);
  if (!kind && settings) kind = settings->choice_if("expert_dtype", kExpertTypes);
  if (kind.value_or(0) == 0) quantisation->experts = Fp4Groups{.group = kFp4Group};
  return quantisation;
}

MoeMlp read_moe(const ConfigReader& text, int layer_count) {
  MoeMlp moe{.experts = text.count("n_routed_experts", kExpertsMax),
             .experts_per_token = text.count("num_experts_per_tok", kExpertsMax),
             .expert_width = text.width("moe_intermediate_size"),
             .normalise_weights = text.flag("norm_topk_prob", true),
             .selection_bias = true};
  text.require(moe.experts_per_token <= moe.experts, "num_experts_per_tok",
               "must be at most n_routed_experts = " + std::to_string(moe.experts));
  check_expert_tensors(text, "n_routed_experts", layer_count, moe.experts);
  const std::int64_t shared = text.integer_if("n_shared_experts", 0, kExpertsMax).value_or(0);
  if (shared > 0)
    moe.shared = SharedExperts{.count = static_cast<int>(shared), .width = shared * moe.expert_width};
  return moe;
}

SharedVectorAttention read_attention(const ConfigReader& text) {
  SharedVectorAttention attention{.heads = text.count("num_attention_heads", kHeadsMax),
                                  .head_width = text.width("head_dim"),
                                  .rope_width = text.width("qk_rope_head_dim"),
                                  .query_rank = text.width("q_lora_rank"),
                                  .output_groups = text.count("o_groups", kHeadsMax),
                                  .output_rank = text.width("o_lora_rank"),
                                  .window = text.integer("sliding_window", 1, kPositionsMax),
                                  .compression = WindowOnly{}};
  const auto kv_heads = text.integer_if("num_key_value_heads", 1, kHeadsMax);
  text.require(kv_heads.value_or(1) == 1, "num_key_value_heads", "must be 1: all heads share one vector");
  text.require(attention.rope_width % 2 == 0 && attention.rope_width <= attention.head_width,
               "qk_rope_head_dim",
               "must be even and at most head_dim = " + std::to_string(attention.head_width));
  text.require(attention.heads % attention.output_groups == 0, "o_groups",
               "must divide num_attention_heads = " + std::to_string(attention.heads));
  return attention;
}

IndexerShape read_indexer(const ConfigReader& text) {
  return {.heads = text.count("index_n_heads", kHeadsMax),
          .head_width = text.width("index_head_dim"),
          .chosen = text.integer("index_topk", 1, kPositionsMax)};
}

// One entry a layer; entries behind the last layer are the drafter stages'.
std::vector<int> read_ratios(const ConfigReader& text, int layer_count) {
  if (!text.has("compress_ratios")) text.report("compress_ratios", "is missing and required");
  std::vector<int> ratios = text.integers_if("compress_ratios", 0, 1 << 20).value_or(std::vector<int>{});
  text.require(!text.has("compress_ratios") || static_cast<int>(ratios.size()) >= layer_count,
               "compress_ratios",
               "has " + std::to_string(ratios.size()) +
                   " entries for num_hidden_layers = " + std::to_string(layer_count));
  return ratios;
}
int ratio_of(const std::vector<int>& ratios, int layer) {
  return layer < static_cast<int>(ratios.size()) ? ratios[static_cast<std::size_t>(layer)] : 0;
}

// The stages of a drafter inside the checkpoint. `stages`: what the family's keys say.
std::optional<InsideDrafter> read_native_dspark(const ConfigReader& text, const ModelShape& shape, MoeMlp moe,
                                                int stages, bool taps_are_inputs) {
  if (!text.has("dspark_block_size")) return std::nullopt;
  NativeDspark drafter{.stages = stages,
                       .block_size = text.count("dspark_block_size", kBlockMax),
                       .noise_token = text.integer("dspark_noise_token_id", 0, kVocabularyMax),
                       .markov_rank = text.integer("dspark_markov_rank", 0, kWidthMax),
                       .taps = {},
                       .taps_are_inputs = taps_are_inputs,
                       .moe = std::move(moe)};
  text.require(drafter.noise_token < shape.vocabulary, "dspark_noise_token_id",
               "must be below vocab_size = " + std::to_string(shape.vocabulary));
  constexpr std::string_view kTaps = "dspark_target_layer_ids";
  if (!text.has(kTaps)) text.report(kTaps, "is missing and required: the layers that the drafter reads");
  const auto last = static_cast<std::int64_t>(shape.layers.size()) - 1;
  drafter.taps = text.integers_if(kTaps, 0, std::max<std::int64_t>(last, 0)).value_or(std::vector<int>{});
  // The published code collects taps in layer order, not in the list's: only an ascending list means one
  // thing.
  text.require(std::is_sorted(drafter.taps.begin(), drafter.taps.end(), std::less_equal<>()), kTaps,
               "must increase strictly");
  if (const auto experts = text.integer_if("dspark_n_routed_experts", 1, kExpertsMax)) {
    drafter.moe.experts = static_cast<int>(*experts);
  }
  if (const auto chosen = text.integer_if("dspark_num_experts_per_tok", 1, kExpertsMax)) {
    drafter.moe.experts_per_token = static_cast<int>(*chosen);
  }
  text.require(drafter.moe.experts_per_token <= drafter.moe.experts, "dspark_num_experts_per_tok",
               "must be at most dspark_n_routed_experts = " + std::to_string(drafter.moe.experts));
  return drafter;
}

void list_hyper(const std::string& name, std::int64_t streams, std::int64_t width, TensorLister& lister) {
  const std::int64_t mixes = (2 + streams) * streams;  // collapse, expand, and the matrix between streams
  lister.add_typed(name + "_fn", tensor::Dtype::F32, {mixes, streams * width});
  lister.add_typed(name + "_base", tensor::Dtype::F32, {mixes});
  lister.add_typed(name + "_scale", tensor::Dtype::F32, {3});
}
void list_hyper_head(const std::string& prefix, std::int64_t streams, std::int64_t width,
                     TensorLister& lister) {
  lister.add_typed(prefix + "hc_head_fn", tensor::Dtype::F32, {streams, streams * width});
  lister.add_typed(prefix + "hc_head_base", tensor::Dtype::F32, {streams});
  lister.add_typed(prefix + "hc_head_scale", tensor::Dtype::F32, {1});
}

// Overlapping groups have two halves: for their own entry and for the next one.
void list_compressor(const std::string& prefix, std::int64_t entry_width, std::int64_t halves,
                     std::int64_t ratio, std::int64_t width, TensorLister& lister) {
  lister.add(prefix + "wkv.weight", {halves * entry_width, width});
  lister.add(prefix + "wgate.weight", {halves * entry_width, width});
  lister.add_typed(prefix + "ape", tensor::Dtype::F32, {ratio, halves * entry_width});
  lister.add(prefix + "norm.weight", {entry_width});
}

void list_indexer_queries(const std::string& prefix, const IndexerShape& indexer,
                          const SharedVectorAttention& attention, std::int64_t width,
                          const LinearFormat& format, TensorLister& lister) {
  lister.linear(prefix + "wq_b", indexer.heads * indexer.head_width, attention.query_rank, Cut::Replicated, 1,
                format, kNames);
  lister.add(prefix + "weights_proj.weight", {indexer.heads, width});
}

void list_compression(const SharedVectorAttention& attention, int layer, std::int64_t width,
                      const std::string& prefix, const LinearFormat& format, TensorLister& lister) {
  if (const auto* plain = std::get_if<PlainGroups>(&attention.compression)) {
    list_compressor(prefix + "compressor.", attention.head_width, 1, plain->ratio, width, lister);
  } else if (const auto* overlap = std::get_if<OverlappingGroups>(&attention.compression)) {
    const std::string indexer = prefix + "indexer.";
    list_compressor(prefix + "compressor.", attention.head_width, 2, overlap->ratio, width, lister);
    list_indexer_queries(indexer, overlap->indexer, attention, width, format, lister);
    list_compressor(indexer + "compressor.", overlap->indexer.head_width, 2, overlap->ratio, width, lister);
  } else if (const auto* shared = std::get_if<SharedEntries>(&attention.compression)) {
    const bool owns = shared->source == layer;
    if (owns) {
      lister.add(prefix + "compressor.wkv.weight", {attention.head_width, width});
      if (shared->ratio > 1) lister.add(prefix + "compressor.wgate.weight", {attention.head_width, width});
      lister.add(prefix + "compressor.norm.weight", {attention.head_width});
    }
    if (shared->index_source)
      list_indexer_queries(prefix + "indexer.", shared->indexer, attention, width, format, lister);
    if (owns) {
      lister.add(prefix + "indexer.wk.weight", {shared->indexer.head_width, attention.head_width});
      lister.add(prefix + "indexer.k_norm.weight", {shared->indexer.head_width});
    }
  }
}

void list_attention(const SharedVectorAttention& attention, std::int64_t width, const std::string& prefix,
                    const LinearFormat& format, TensorLister& lister) {
  const int heads = attention.heads;
  const std::int64_t inner = heads * attention.head_width;
  const std::int64_t outer = attention.output_groups * attention.output_rank;
  lister.linear(prefix + "wq_a", attention.query_rank, width, Cut::Replicated, 1, format, kNames);
  lister.add(prefix + "q_norm.weight", {attention.query_rank});
  lister.linear(prefix + "wq_b", inner, attention.query_rank, Cut::QueryHeads, heads, format, kNames);
  lister.linear(prefix + "wkv", attention.head_width, width, Cut::Replicated, 1, format, kNames);
  lister.add(prefix + "kv_norm.weight", {attention.head_width});
  lister.linear(prefix + "wo_a", outer, inner / attention.output_groups, Cut::OutputGroups,
                attention.output_groups, format, kNames);
  lister.linear(prefix + "wo_b", width, outer, Cut::Row, attention.output_groups, format, kNames);
  lister.add_typed(prefix + "attn_sink", tensor::Dtype::F32, {heads}, Cut::QueryHeads, heads);
}

void list_moe(const MoeMlp& moe, const ModelShape& shape, const std::string& prefix, TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  const LinearFormat dense = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  const LinearFormat experts = shape.quantisation ? shape.quantisation->experts : LinearFormat{};
  lister.add(prefix + "gate.weight", {moe.experts, width});
  if (moe.hash_routed) {
    lister.add_table(prefix + "gate.tid2eid", tensor::Dtype::I64, {shape.vocabulary, moe.experts_per_token});
  } else {
    lister.add_typed(prefix + "gate.bias", tensor::Dtype::F32, {moe.experts});
    if (moe.image_bias) lister.add_typed(prefix + "gate.bias_vl", tensor::Dtype::F32, {moe.experts});
  }
  const auto triple = [&](const std::string& name, std::int64_t inner, Cut in, Cut out,
                          const LinearFormat& format, std::int64_t count) {
    lister.linear(name + "w1", inner, width, in, 1, format, kNames, count);
    lister.linear(name + "w2", width, inner, out, 1, format, kNames, count);
    lister.linear(name + "w3", inner, width, in, 1, format, kNames, count);
  };
  triple(prefix + "experts.{}.", moe.expert_width, Cut::Expert, Cut::Expert, experts, moe.experts);
  if (moe.shared) triple(prefix + "shared_experts.", moe.shared->width, Cut::Column, Cut::Row, dense, 1);
}

void list_block(const ModelShape& shape, const SharedVectorAttention& attention, const MoeMlp& moe, int layer,
                const std::string& prefix, TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  const LinearFormat format = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  lister.add(prefix + "attn_norm.weight", {width});
  lister.add(prefix + "ffn_norm.weight", {width});
  if (shape.hyper_connections) {
    list_hyper(prefix + "hc_attn", shape.hyper_connections->streams, width, lister);
    list_hyper(prefix + "hc_ffn", shape.hyper_connections->streams, width, lister);
  }
  list_attention(attention, width, prefix + "attn.", format, lister);
  list_compression(attention, layer, width, prefix + "attn.", format, lister);
  list_moe(moe, shape, prefix + "ffn.", lister);
}

void list_engram(const ModelShape& shape, int layer, const std::string& prefix, TensorLister& lister) {
  const Engram& engram = *shape.engram;
  const auto found = std::find(engram.layers.begin(), engram.layers.end(), layer);
  if (found == engram.layers.end()) return;
  const std::int64_t rows = engram.rows[static_cast<std::size_t>(found - engram.layers.begin())];
  const std::int64_t streams = shape.hyper_connections ? shape.hyper_connections->streams : 1;
  const std::int64_t read = (engram.ngram_max - 1) * engram.heads * engram.head_width;
  const LinearFormat format = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  // The table is fp8 in every published file; its scales run along a row only.
  lister.add_typed(prefix + "embed.weight", tensor::Dtype::F8E4M3, {rows, engram.head_width}, Cut::Unplaced);
  lister.add_table(prefix + "embed.scale", tensor::Dtype::F8E8M0, {rows, (engram.head_width + 31) / 32},
                   Cut::Unplaced);
  lister.linear(prefix + "wkv", (streams + 1) * shape.hidden_width, read, Cut::Replicated, 1, format, kNames);
  lister.add(prefix + "q_weight", {streams, shape.hidden_width});
  lister.add(prefix + "k_weight", {streams, shape.hidden_width});
}

SharedVectorAttention stage_attention(const ModelShape& shape) {
  SharedVectorAttention attention = std::get<SharedVectorAttention>(shape.layers.front().attention);
  attention.compression = WindowOnly{};
  return attention;
}

void list_dspark_stage(const ModelShape& shape, const NativeDspark& drafter, int stage,
                       TensorLister& lister) {
  const std::string prefix = "mtp." + std::to_string(stage) + ".";
  const std::int64_t width = shape.hidden_width;
  const LinearFormat format = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  const bool lagged = shape.hyper_connections && shape.hyper_connections->lagged;
  list_block(shape, stage_attention(shape), drafter.moe, -1, prefix, lister);
  if (stage == 0) {
    lister.linear(prefix + "main_proj", width, static_cast<std::int64_t>(drafter.taps.size()) * width,
                  Cut::Replicated, 1, format, kNames);
    lister.add(prefix + "main_norm.weight", {width});
  }
  if (stage + 1 != drafter.stages) return;
  lister.add(prefix + "norm.weight", {width});
  if (shape.hyper_connections && !lagged)
    list_hyper_head(prefix, shape.hyper_connections->streams, width, lister);
  if (drafter.markov_rank > 0) {
    const std::string head = prefix + "markov_head.";
    lister.add(head + (lagged ? "embed.weight" : "markov_w1.weight"),
               {shape.vocabulary, drafter.markov_rank});
    lister.add(head + (lagged ? "head.weight" : "markov_w2.weight"), {shape.vocabulary, drafter.markov_rank});
  }
  const std::vector<std::int64_t> confidence = {1, width + drafter.markov_rank};
  if (lagged) {
    lister.add(prefix + "confidence_head.proj.weight", confidence);
  } else {
    lister.add_typed(prefix + "confidence_head.proj.weight", tensor::Dtype::F32, confidence);
  }
}

void list_mtp_stage(const ModelShape& shape, int stage, TensorLister& lister) {
  const std::string prefix = "mtp." + std::to_string(stage) + ".";
  const std::int64_t width = shape.hidden_width;
  const LinearFormat format = shape.quantisation ? shape.quantisation->dense : LinearFormat{};
  MoeMlp moe = std::get<MoeMlp>(shape.layers.back().mlp);
  moe.hash_routed = false;
  list_block(shape, stage_attention(shape), moe, -1, prefix, lister);
  lister.linear(prefix + "e_proj", width, width, Cut::Replicated, 1, format, kNames);
  lister.linear(prefix + "h_proj", width, width, Cut::Replicated, 1, format, kNames);
  for (const char* norm : {"enorm", "hnorm", "norm"}) lister.add(prefix + norm + ".weight", {width});
  if (shape.hyper_connections) list_hyper_head(prefix, shape.hyper_connections->streams, width, lister);
}

ModelShape read_v4_body(const ConfigReader& text, const ConfigReader& outer, std::string family,
                        bool lagged) {
  ModelShape shape = read_body(text, outer, std::move(family), kRopeKinds);
  shape.quantisation = read_formats(text, outer);
  text.choice_if("hidden_act", kActivations);
  shape.hyper_connections = HyperConnections{.streams = text.count("hc_mult", 64), .lagged = lagged};
  return shape;
}

}  // namespace

ModelShape read_deepseek_v4(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_v4_body(text, outer, "deepseek_v4", false);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  SharedVectorAttention attention = read_attention(text);
  const IndexerShape indexer = read_indexer(text);
  MoeMlp moe = read_moe(text, layer_count);
  const std::vector<int> ratios = read_ratios(text, layer_count);
  const int hashed = static_cast<int>(text.integer_if("num_hash_layers", 0, layer_count).value_or(0));
  for (int i = 0; i < layer_count; ++i) {
    const int ratio = ratio_of(ratios, i);
    attention.compression = WindowOnly{};
    if (ratio == kOverlapRatio) attention.compression = OverlappingGroups{.ratio = ratio, .indexer = indexer};
    if (ratio != 0 && ratio != kOverlapRatio) attention.compression = PlainGroups{.ratio = ratio};
    moe.hash_routed = i < hashed;
    shape.layers.push_back({.attention = attention, .mlp = moe});
  }
  moe.hash_routed = false;
  // num_nextn_predict_layers is 1 also in files with three stages; the entries behind the last layer tell.
  const int behind = static_cast<int>(ratios.size()) - layer_count;
  const std::int64_t stages = text.integer_if("n_mtp_layers", 1, 64).value_or(behind > 0 ? behind : 3);
  shape.inside_drafter =
      read_native_dspark(text, shape, moe, static_cast<int>(std::min<std::int64_t>(stages, 64)), false);
  const std::int64_t serial = text.integer_if("num_nextn_predict_layers", 0, 64).value_or(0);
  if (!shape.inside_drafter && serial > 0)
    shape.inside_drafter = SerialMtp{.stages = static_cast<int>(serial)};
  return shape;
}

ModelShape read_deepseek_v41(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_v4_body(text, outer, "deepseek_v41", true);
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  SharedVectorAttention attention = read_attention(text);
  const IndexerShape indexer = read_indexer(text);
  MoeMlp moe = read_moe(text, layer_count);
  moe.image_bias = outer.has("vision_config");
  const std::vector<int> ratios = read_ratios(text, layer_count);
  const auto sources =
      text.integers_if("kv_source_layer_ids", 0, layer_count - 1).value_or(std::vector<int>{});
  const auto pickers =
      text.integers_if("index_source_layer_ids", 0, layer_count - 1).value_or(std::vector<int>{});
  for (int i = 0; i < layer_count; ++i) {
    attention.compression = WindowOnly{};
    if (const int ratio = ratio_of(ratios, i); ratio > 0) {
      int source = -1;
      for (const int candidate : sources) source = candidate <= i ? std::max(source, candidate) : source;
      text.require(source >= 0 && ratio_of(ratios, source) == ratio, "kv_source_layer_ids",
                   "holds no layer at or before layer " + std::to_string(i) + " with its ratio " +
                       std::to_string(ratio));
      const bool picks = std::find(pickers.begin(), pickers.end(), i) != pickers.end();
      attention.compression = SharedEntries{
          .ratio = ratio, .source = std::max(source, 0), .index_source = picks, .indexer = indexer};
    }
    shape.layers.push_back({.attention = attention, .mlp = moe});
  }
  if (text.has("engram_layer_ids")) {
    Engram engram{
        .layers = text.integers_if("engram_layer_ids", 0, layer_count - 1).value_or(std::vector<int>{}),
        .rows = {},
        .heads = text.count("engram_n_heads", kHeadsMax),
        .ngram_max = static_cast<int>(text.integer("engram_max_ngram_size", 2, 64)),
        .head_width = text.width("engram_head_dim")};
    constexpr std::int64_t kRowsMax = (std::int64_t{1} << 31) - 1;
    for (const int rows :
         text.integers_if("engram_num_embeddings", 1, kRowsMax).value_or(std::vector<int>{})) {
      engram.rows.push_back(rows);
    }
    text.require(engram.rows.size() == engram.layers.size(), "engram_num_embeddings",
                 "must have one entry for each of engram_layer_ids");
    engram.rows.resize(engram.layers.size(), 1);
    shape.engram = std::move(engram);
  }
  const std::int64_t stages = text.integer_if("num_nextn_predict_layers", 0, 64).value_or(3);
  shape.inside_drafter =
      read_native_dspark(text, shape, moe, static_cast<int>(std::max<std::int64_t>(stages, 1)), true);
  return shape;
}

void list_deepseek_v4_tensors(const ModelShape& shape, TensorLister& lister) {
  const std::int64_t width = shape.hidden_width;
  lister.at(Place::FirstStage);
  lister.add("embed.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    const std::string prefix = "layers." + std::to_string(i) + ".";
    lister.at_layer(layer);
    if (shape.engram) list_engram(shape, layer, prefix + "engram.", lister);
    list_block(shape, std::get<SharedVectorAttention>(shape.layers[i].attention),
               std::get<MoeMlp>(shape.layers[i].mlp), layer, prefix, lister);
  }
  lister.at(Place::LastStage);
  lister.add("norm.weight", {width});
  lister.add("head.weight", {shape.vocabulary, width}, Cut::Vocabulary);
  if (shape.hyper_connections && !shape.hyper_connections->lagged) {
    list_hyper_head("", shape.hyper_connections->streams, width, lister);
  }
  if (!shape.inside_drafter) return;
  lister.drafter(true);
  const int layer_count = static_cast<int>(shape.layers.size());
  if (const auto* drafter = std::get_if<NativeDspark>(&*shape.inside_drafter)) {
    for (int i = 0; i < drafter->stages; ++i) {
      lister.at_layer(layer_count + i);
      list_dspark_stage(shape, *drafter, i, lister);
    }
  } else if (const auto* mtp = std::get_if<SerialMtp>(&*shape.inside_drafter)) {
    for (int i = 0; i < mtp->stages; ++i) {
      lister.at_layer(layer_count + i);
      list_mtp_stage(shape, i, lister);
    }
  }
}

}  // namespace outrider::checkpoint
