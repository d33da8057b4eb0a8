// Reads the config of a block drafter (DSpark, DFlash). Formats are told apart by their keys; a class name
// decides nothing. What an absent key means where its authors disagree (docs/checkpoints.md has the whole
// list):
//   sample_from_anchor           false, as the serving engines read speculators files
//   markov_head_type             "vanilla"
//   enable_confidence_head       speculators: whether the file holds confidence_head.*, false where its
//   tensors are not known confidence_head_with_markov  speculators: false sliding_window_non_causal    false:
//   a slot of a sliding layer sees slots up to its own
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/config_reader.h"
#include "checkpoint/drafter_shape.h"

namespace outrider::checkpoint {

struct DrafterContext {
  const std::vector<std::string>* tensor_names = nullptr;  // sorted; null or empty: not known
  int target_layer_count = 0;                              // 0: not known
};

std::optional<DrafterFormat> identify_block_drafter(const base::Json& config);
// Faults go to the reader's inspector. Taps stay empty where z-lab's default needs a target that is not
// known.
DrafterShape read_block_drafter(const ConfigReader& outer, DrafterFormat format,
                                const DrafterContext& context);

// Where a format keeps its taps: "target_layer_ids", "aux_hidden_state_layer_ids",
// "dflash_config.target_layer_ids".
std::string taps_key(const base::Json& config, DrafterFormat format);

// z-lab's taps of a drafter with `count` layers: round(1 + i (L - 4) / (count - 1)), halves to even; one
// layer taps L / 2.
std::vector<int> derive_default_taps(int target_layer_count, int count);

}  // namespace outrider::checkpoint
