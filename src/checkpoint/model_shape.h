// ModelShape: what a model is made of, as sums of bricks. Layers need not be alike; there is no "0 means
// off". Hugging Face key names stop at the config readers of this folder, which produce these values. Widths
// are channels, counts are how many. What an engine needs beyond the shape (clamps, routing details of
// families that do not run yet) comes with the family.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

namespace outrider::checkpoint {

// --- rotary embedding ---
struct PlainRope {
  friend bool operator==(const PlainRope&, const PlainRope&) = default;
};
struct YarnRope {  // arXiv 2309.00071, as transformers computes it
  double factor;
  std::int64_t original_positions;
  double beta_fast = 32, beta_slow = 1;
  double attention_factor;  // multiplies cos and sin
  bool rounded = true;      // the ramp's ends are rounded to whole channels (gpt-oss: not)
  friend bool operator==(const YarnRope&, const YarnRope&) = default;
};
struct Llama3Rope {
  double factor, low_frequency_factor, high_frequency_factor;
  std::int64_t original_positions;
  friend bool operator==(const Llama3Rope&, const Llama3Rope&) = default;
};
struct ProportionalRope {  // Gemma 4's global layers
  friend bool operator==(const ProportionalRope&, const ProportionalRope&) = default;
};
struct RopeShape {
  double theta;
  std::variant<PlainRope, YarnRope, Llama3Rope, ProportionalRope> scaling;
  double rotated_share = 1;  // of a head's channels
  friend bool operator==(const RopeShape&, const RopeShape&) = default;
};

// --- attention ---
// Grouped-query attention (Qwen3, Llama, gpt-oss, Gemma).
struct GroupedAttention {
  int heads;
  int kv_heads;
  int head_width;
  bool bias = false;                     // q, k, v and o projections have one
  bool qk_norm = true;                   // per head, before the rotation
  std::optional<std::int64_t> window{};  // position t sees t - window + 1 .. t; absent: everything
  bool output_gate = false;              // Qwen3.5: q_proj gives a gate beside each query
  bool sinks = false;                    // gpt-oss: one learned logit per head in the denominator
  bool values_are_keys = false;          // Gemma 4: no v_proj
  bool reads_earlier_rows = false;  // Gemma 4: keys and values of the last layer of its kind that has them
  friend bool operator==(const GroupedAttention&, const GroupedAttention&) = default;
};

// Picks the keys that attention reads (DeepSeek V3.2, GLM-5, V4).
struct IndexerShape {
  int heads;
  std::int64_t head_width;
  std::int64_t chosen;  // top-k
  friend bool operator==(const IndexerShape&, const IndexerShape&) = default;
};

// Multi-head latent attention (DeepSeek V3, Kimi, GLM-5): the cache holds kv_rank + rope_width values a
// token.
struct LatentAttention {
  int heads;
  std::optional<std::int64_t> query_rank;  // absent: one q_proj
  std::int64_t kv_rank, nope_width, rope_width, value_width;
  bool output_gate = false;  // Kimi-K3: g_proj
  bool rotary = true;        // Kimi-K3: the rope channels exist and are not rotated
  std::optional<IndexerShape> indexer{};
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

// DeepSeek V4: one shared vector is key and value of all heads; beside a window of raw rows, layers read
// compressed ones.
struct WindowOnly {
  friend bool operator==(const WindowOnly&, const WindowOnly&) = default;
};
struct PlainGroups {  // "HCA": all entries of whole groups
  std::int64_t ratio;
  friend bool operator==(const PlainGroups&, const PlainGroups&) = default;
};
struct OverlappingGroups {  // "CSA": entries overlap and an indexer picks them
  std::int64_t ratio;
  IndexerShape indexer;
  friend bool operator==(const OverlappingGroups&, const OverlappingGroups&) = default;
};
struct SharedEntries {  // V4.1: entries of layer `source`; those with `index_source` pick anew
  std::int64_t ratio;
  int source;  // this very layer: it owns the compressor
  bool index_source;
  IndexerShape indexer;
  friend bool operator==(const SharedEntries&, const SharedEntries&) = default;
};
struct SharedVectorAttention {
  int heads;
  std::int64_t head_width, rope_width, query_rank;
  int output_groups;
  std::int64_t output_rank;  // of one group
  std::int64_t window;
  std::variant<WindowOnly, PlainGroups, OverlappingGroups, SharedEntries> compression;
  friend bool operator==(const SharedVectorAttention&, const SharedVectorAttention&) = default;
};

// Recurrent kinds: a state per sequence, no rows per token.
struct GatedDeltaAttention {  // Qwen3.5: scalar decay per value head
  int key_heads, value_heads;
  std::int64_t key_width, value_width, convolution_taps;
  friend bool operator==(const GatedDeltaAttention&, const GatedDeltaAttention&) = default;
};
struct KimiDeltaAttention {  // Kimi-K3: decay per key channel
  int heads;
  std::int64_t head_width, convolution_taps;
  friend bool operator==(const KimiDeltaAttention&, const KimiDeltaAttention&) = default;
};
using AttentionShape = std::variant<GroupedAttention, LatentAttention, SharedVectorAttention,
                                    GatedDeltaAttention, KimiDeltaAttention>;

// --- feed-forward ---
struct DenseMlp {
  std::int64_t width;
  friend bool operator==(const DenseMlp&, const DenseMlp&) = default;
};
struct SharedExperts {
  int count;
  std::int64_t width;  // of all together
  bool gated = false;  // times sigmoid of one logit
  friend bool operator==(const SharedExperts&, const SharedExperts&) = default;
};
struct ExpertGroups {  // group-limited routing
  int groups, kept;
  friend bool operator==(const ExpertGroups&, const ExpertGroups&) = default;
};
struct LatentExperts {  // Kimi-K3: routed experts work in a narrower space
  std::int64_t width;
  bool norm;
  friend bool operator==(const LatentExperts&, const LatentExperts&) = default;
};
struct MoeMlp {
  int experts;
  int experts_per_token;
  std::int64_t expert_width;
  bool normalise_weights;  // divide the chosen probabilities by their sum
  std::optional<SharedExperts> shared{};
  std::optional<ExpertGroups> groups{};
  std::optional<LatentExperts> latent{};
  bool selection_bias = false;  // added to scores for choosing only
  bool hash_routed = false;     // DeepSeek V4: a table from token to experts
  bool image_bias = false;      // DeepSeek V4.1: another selection bias for image tokens
  bool biases = false;          // gpt-oss: router and experts have them
  friend bool operator==(const MoeMlp&, const MoeMlp&) = default;
};
struct DenseBesideMoe {  // Gemma 4: both run, outputs are added
  DenseMlp dense;
  MoeMlp moe;
  friend bool operator==(const DenseBesideMoe&, const DenseBesideMoe&) = default;
};
using MlpShape = std::variant<DenseMlp, MoeMlp, DenseBesideMoe>;

struct LayerShape {
  AttentionShape attention;
  MlpShape mlp;
  std::optional<RopeShape> rope{};  // where it differs from the model's
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

// --- storage ---
struct PlainFormat {  // the model's own type
  friend bool operator==(const PlainFormat&, const PlainFormat&) = default;
};
struct Fp8Blocks {  // e4m3 with one scale per block of [rows, columns]
  std::int64_t rows, columns;
  bool power_of_two_scales;  // E8M0 on disk, else F32
  friend bool operator==(const Fp8Blocks&, const Fp8Blocks&) = default;
};
struct Fp4Groups {  // two e2m1 codes a byte, one E8M0 scale per `group` inputs of a row
  std::int64_t group;
  friend bool operator==(const Fp4Groups&, const Fp4Groups&) = default;
};
struct Int4Groups {  // eight codes an int32 word, one scale of the model's type per `group` inputs, and the
                     // shape
  std::int64_t group;
  friend bool operator==(const Int4Groups&, const Int4Groups&) = default;
};
using LinearFormat = std::variant<PlainFormat, Fp8Blocks, Fp4Groups, Int4Groups>;
struct Quantisation {
  std::string method;  // as published: "fp8", "mxfp4", "compressed-tensors"
  LinearFormat dense, experts;
  std::vector<std::string> ignored;  // patterns of modules left alone, as published
  bool sizes_known = true;           // false: a method whose tensors are listed as if they were plain
  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

// --- parts beside the layers ---
struct HyperConnections {  // DeepSeek V4: parallel residual streams
  int streams;
  bool lagged;  // V4.1: weights of the sublayer before; no head of its own
  friend bool operator==(const HyperConnections&, const HyperConnections&) = default;
};
struct AttentionResiduals {  // Kimi-K3: layers read a mix of earlier blocks' outputs
  int block_layers;
  friend bool operator==(const AttentionResiduals&, const AttentionResiduals&) = default;
};
struct Engram {  // DeepSeek V4.1: n-gram tables at the entry of some layers
  std::vector<int> layers;
  std::vector<std::int64_t> rows;  // of each layer's table
  int heads, ngram_max;
  std::int64_t head_width;
  friend bool operator==(const Engram&, const Engram&) = default;
};

struct PerLayerInputs {  // Gemma 4 E models: a small embedding of its own for each layer
  std::int64_t width, vocabulary;
  friend bool operator==(const PerLayerInputs&, const PerLayerInputs&) = default;
};

// Drafters inside the target's checkpoint.
struct SerialMtp {  // multi-token-prediction layers behind the last
  int stages;
  friend bool operator==(const SerialMtp&, const SerialMtp&) = default;
};
struct NativeDspark {  // DeepSeek V4 and V4.1: mtp.0 .. mtp.{stages - 1}
  int stages, block_size;
  std::int64_t noise_token, markov_rank;
  std::vector<int> taps;
  bool taps_are_inputs;
  MoeMlp moe;
  friend bool operator==(const NativeDspark&, const NativeDspark&) = default;
};
using InsideDrafter = std::variant<SerialMtp, NativeDspark>;

struct ModelShape {
  std::string family;  // a row of the families' table: "qwen3", "qwen3_moe", "deepseek_v4"
  std::int64_t hidden_width;
  std::int64_t vocabulary;
  std::int64_t positions_max;
  double norm_epsilon;
  bool tied_head;
  RopeShape rope;
  tensor::Dtype weight_dtype;  // as the config says; tensors may differ
  std::vector<LayerShape> layers;
  std::vector<std::int32_t>
      end_token_ids;  // eos_token_id of config.json; generation_config.json may add more
  std::optional<Quantisation> quantisation{};
  std::optional<HyperConnections> hyper_connections{};
  std::optional<AttentionResiduals> attention_residuals{};
  std::optional<Engram> engram{};
  std::optional<PerLayerInputs> per_layer_inputs{};
  std::optional<InsideDrafter> inside_drafter{};
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

}  // namespace outrider::checkpoint
