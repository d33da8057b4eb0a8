// Facts: what a planner must know of a model or drafter, from its config.json alone: counts, widths,
// key-value rows, and every tensor with its bytes and how it is cut over ranks. Plain values; nothing here
// opens weights. Layers count from 0. Sources of the cuts: the planner's conventions (docs/plan.md); of the
// sizes: the published checkpoints' formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace outrider::checkpoint {

// How one tensor is divided. Scales are cut as their weight.
enum class Cut {
  Replicated,  // whole on every tensor rank of its stage
  Vocabulary,  // rows split evenly over tensor ranks
  Column,      // dim 0 split evenly: gate and up of dense MLPs and shared experts
  Row,         // dim 1 split evenly: o_proj, down
  QueryHeads,  // dim 0 split by whole query (or linear-attention) heads
  KvHeads,  // dim 0 in key-value heads: split, or each head held tp / kv_heads times (kv_heads: the group's
            // unit_count)
  OutputGroups,  // dim 0 split by DeepSeek V4's output groups
  Expert,        // whole experts under expert parallelism; else cut like Column or Row, bytes / tp either way
  Unplaced,      // not divided by the planner: Engram tables
};

// Where in a pipeline a tensor lives.
enum class Place { FirstStage, Layer, LastStage };

// Tensors of one name pattern and shape; "{}" in the name stands for the expert's number (0 .. count - 1).
struct TensorGroup {
  std::string name;                   // "model.layers.3.mlp.experts.{}.gate_proj.weight"
  std::vector<std::int64_t> shape{};  // of one
  tensor::Dtype dtype;
  std::int64_t count = 1;  // 1, or the experts
  Cut cut = Cut::Replicated;
  Place place = Place::Layer;
  std::optional<int>
      layer;  // Place::Layer: number of the target's layer, or behind the last for its drafter's stages
  int unit_count = 1;           // heads or groups that the cut may not split
  std::int64_t parameters = 0;  // of one; 0 for scales, id maps; packed 4-bit codes count two a byte
  bool drafter = false;         // belongs to the drafter inside this checkpoint
  bool alias = false;           // a copy of the target's embedding or head on disk; not held twice in memory
  bool fused = false;           // files hold the `count` of them as one tensor with a leading dimension
  bool optional = false;        // may be absent: a redundant tied head

  std::int64_t bytes() const;  // of one
  friend bool operator==(const TensorGroup&, const TensorGroup&) = default;
};

// What a layer keeps per token of context.
enum class KvKind {
  PerHead,  // keys and values per kv head: sharded over tensor ranks by head
  Latent,  // one compressed vector a token (MLA, V4's shared key-value vector): the same on every tensor rank
  Recurrent,  // a state of fixed size per sequence, nothing per token
};
struct KvGroup {
  KvKind kind;
  std::vector<int> layers{};
  int kv_heads = 1;                      // PerHead: heads of one layer
  std::int64_t elements = 0;             // of one layer for every `per_tokens` tokens
  std::int64_t per_tokens = 1;           // V4's compression ratio
  std::optional<std::int64_t> window{};  // kept for the last `window` tokens only
  // Bytes of all its layers for one token (compressed groups: of `per_tokens` tokens, divided), at 2 bytes an
  // element.
  std::int64_t bytes_per_token_bf16() const;
  friend bool operator==(const KvGroup&, const KvGroup&) = default;
};

enum class AttentionKind { Full, Sliding, Latent, WindowOnly, Compressed, GatedDelta, KimiDelta };
struct LayerFacts {
  AttentionKind attention;
  std::optional<std::int64_t> compression_ratio{};  // Compressed
  bool moe;
  friend bool operator==(const LayerFacts&, const LayerFacts&) = default;
};

struct MoeFacts {
  int experts, experts_per_token;
  int shared_experts = 0;  // how many; none is an ordinary count here
  int groups = 1;          // for group-limited routing
  std::int64_t expert_width;
  std::vector<int> layers{};
  bool dense_beside = false;  // Gemma 4: a dense MLP runs beside the experts
  friend bool operator==(const MoeFacts&, const MoeFacts&) = default;
};

struct QuantFacts {
  std::string method;                              // "fp8", "mxfp4", "compressed-tensors", "modelopt"
  std::int64_t block_rows = 1, block_columns = 1;  // of a weight's scale blocks
  bool sizes_known = true;             // false: a method whose tensors are listed as if they were plain
  std::vector<std::string> ignored{};  // modules left in the model's own type, patterns as published
  friend bool operator==(const QuantFacts&, const QuantFacts&) = default;
};

// A width that tensor parallelism divides, with the quantisation block that a share must be a multiple of (1:
// none).
struct CutWidth {
  std::string what;  // "shared expert", "dense mlp", "expert", "vocabulary", "draft vocabulary"
  std::int64_t width;
  std::int64_t block = 1;
  friend bool operator==(const CutWidth&, const CutWidth&) = default;
};

// One transformer: a target's, or a drafter's own.
struct ModelFacts {
  std::string model_type;  // of the outer config
  std::vector<std::string> architectures{};
  std::string
      attention;  // "gqa", "gqa-sliding", "mla", "shared-kv-compressed", "hybrid-kda-mla", "hybrid-gdn-gqa"
  int layer_count;
  std::int64_t hidden_width, vocabulary;
  std::optional<std::int64_t> positions_max{};  // absent where the config does not say
  bool tied_head;
  int heads, kv_heads;
  std::optional<std::int64_t> head_width{}, global_head_width{}, kv_rank{}, rope_width{}, q_rank{},
      latent_width{};
  std::optional<int> global_kv_heads{}, output_groups{};
  std::optional<std::int64_t> window{};
  std::vector<int> hash_layers{}, kv_source_layers{}, index_source_layers{}, engram_layers{};
  std::vector<LayerFacts> layers{};
  std::optional<MoeFacts> moe{};
  std::optional<QuantFacts> quantisation{};
  std::optional<int> packed_bits{};  // weights in our own packing (packed.h): tensors are listed as unpacked
  std::string dtype;                 // "bfloat16"; "" where the config does not say
  bool rope_scaled = false;  // positions beyond the config's maximum cannot be had by a longer rotary table
  std::vector<KvGroup> kv{};
  std::vector<CutWidth> widths{};
  friend bool operator==(const ModelFacts&, const ModelFacts&) = default;
};

enum class DraftMethod { DSpark, DFlash, Eagle3, Mtp, Pard, DraftModel };
std::string_view name_of(DraftMethod method);  // vLLM's spelling: "dspark", "draft_model"

enum class TapPoint { LayerOutput, LayerInput };

struct MarkovFacts {
  std::string type;  // "vanilla", "gated", "rnn"
  std::int64_t rank;
  friend bool operator==(const MarkovFacts&, const MarkovFacts&) = default;
};

// What is special about a drafter. Absent = the config does not say or the method has no such thing.
struct DrafterFacts {
  DraftMethod method;
  std::string
      format;  // "DeepSpec standalone", "speculators", "z-lab", "k3_dspark (MLA)", "native mtp.*", ...
  bool inside_target = false;       // its tensors are in the target's checkpoint
  int stages = 1;                   // its layers
  std::vector<int> layer_ids{};     // inside_target: behind the target's layers
  std::optional<int> block_size{};  // rows of the trained block
  bool anchor_first = true;         // block drafters: slot 0 drafts too
  std::optional<int> drafts_per_block{};
  std::optional<int> default_tokens{};  // what the file proposes as num_speculative_tokens
  std::optional<int> predict_depth{};   // serial MTP: n_predict
  std::optional<std::vector<int>>
      taps{};  // 0-based target layers, list order; absent: EAGLE-3's default rule, z-lab's default taps
  std::vector<int> taps_as_written{};  // with the format's own numbering
  std::string taps_key{};  // "target_layer_ids", "aux_hidden_state_layer_ids", "dspark_target_layer_ids", ...
  TapPoint tap_point = TapPoint::LayerOutput;
  std::optional<std::int64_t> mask_token{};
  std::optional<MarkovFacts> markov{};
  bool confidence = false, confidence_with_markov = false;
  bool causal = false;                            // inside the block
  std::optional<std::int64_t> context_width{};    // columns of fc: taps x target's hidden width
  std::optional<std::int64_t> attention_input{};  // EAGLE-3: 2 x hidden
  std::optional<int> target_layers{};             // what the file says of its target
  std::optional<std::int64_t> target_hidden_width{};
  std::int64_t draft_vocabulary = 0;  // rows of its head (the model's vocabulary where it is not reduced)
  bool own_embedding = false, own_head = false;
  std::optional<std::int64_t> pard_token{};
  std::optional<MoeFacts> moe{};  // inside_target: its own experts
  std::vector<KvGroup> kv{};      // inside_target; a separate drafter's rows are in ModelFacts::kv
  friend bool operator==(const DrafterFacts&, const DrafterFacts&) = default;
};

struct Facts {
  ModelFacts model;
  bool is_drafter = false;                // a drafter's own config; then `drafter` is present
  std::optional<DrafterFacts> drafter{};  // else the one inside the target's checkpoint
  std::vector<TensorGroup> tensors{};     // in file order of the family's layout, drafter's included
  std::int64_t parameters(bool of_drafter) const;
  std::int64_t tensor_count() const;  // expert by expert also where a file fuses them
  std::int64_t bytes_on_disk() const;
  friend bool operator==(const Facts&, const Facts&) = default;
};

// All faults of a config, and the facts as far as they can still be derived, so that a planner can report
// what else is wrong.
struct FactsReading {
  std::optional<Facts> facts{};
  std::vector<base::Problem> problems{};  // field: `source` + ": " + key
};
struct FactsOptions {
  std::vector<std::string>
      tensor_names{};           // sorted, where headers were read: they settle what keys leave open
  bool as_draft_model = false;  // an ordinary causal LM used as a drafter
};
FactsReading read_facts(const base::Json& config, const std::string& source,
                        const FactsOptions& options = {});

// The same, or every problem.
base::Result<Facts> parse_facts(const base::Json& config, const std::string& source,
                                const FactsOptions& options = {});

}  // namespace outrider::checkpoint
