// DrafterShape: a block drafter of the DSpark / DFlash kind (dspark formats: DeepSpec standalone,
// speculators, z-lab DFlash), told apart by keys and tensors, never by class name alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

enum class DrafterFormat { DeepSpec, Speculators, Zlab };

// AnchorFirst: slot k predicts position p + k + 1, N = slots. OnePlusN: slot 0 predicts nothing, slot k
// predicts position p + k.
enum class BlockLayout { AnchorFirst, OnePlusN };

enum class MarkovKind { Vanilla, Gated, Rnn };
struct MarkovShape {
  MarkovKind kind;
  std::int64_t rank;
  friend bool operator==(const MarkovShape&, const MarkovShape&) = default;
};

struct ConfidenceShape {
  bool with_markov;  // reads [hidden; e], else hidden alone
  friend bool operator==(const ConfidenceShape&, const ConfidenceShape&) = default;
};

// A sliding layer's window counts from the anchor, for all slots: context rows p - window .. p - 1.
struct DraftLayerShape {
  std::optional<std::int64_t> window;
  bool causal_block = false;  // slot k sees slots 0..k only
  friend bool operator==(const DraftLayerShape&, const DraftLayerShape&) = default;
};

struct DrafterShape {
  DrafterFormat format;
  BlockLayout layout;
  int block_size;  // slots it was trained with
  base::TokenId mask_token;
  std::vector<int>
      taps;  // target decoder layers whose output is tapped, 0-based; -1 = the embedding's output; list order
  // The drafter's own transformer: layers are dense GroupedAttention; vocabulary is the target's (embedding
  // rows).
  ModelShape backbone;
  std::vector<DraftLayerShape> layer_masks;  // one a layer
  std::optional<MarkovShape> markov;
  std::optional<ConfidenceShape> confidence;
  std::optional<std::int64_t> draft_vocabulary;  // reduced head; absent: the target's
  bool own_embedding, own_head;                  // present in the file; else the target's
  std::optional<int> target_layers;              // what it says of its target, where it does
  friend bool operator==(const DrafterShape&, const DrafterShape&) = default;

  int drafts_per_block() const { return layout == BlockLayout::AnchorFirst ? block_size : block_size - 1; }
};

}  // namespace outrider::checkpoint
