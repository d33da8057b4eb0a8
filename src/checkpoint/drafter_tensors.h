// The tensors of a block drafter's own file (no "model." prefix): DeepSpec, speculators and z-lab name them
// alike.
#pragma once

#include "checkpoint/config_reader.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/tensor_list.h"

namespace outrider::checkpoint {

void list_drafter_tensors(const DrafterShape& shape, TensorLister& lister);

// Kimi-K3's DSpark: dense layers of latent attention; what it has beside them.
struct LatentDrafterShape {
  int block_size;
  std::int64_t mask_token, markov_rank, target_width;
  bool confidence;
  std::vector<int> taps;
  std::optional<int> target_layers;
};
LatentDrafterShape read_latent_drafter(const ConfigReader& outer, const ModelShape& shape);
void list_latent_drafter_tensors(const ModelShape& shape, const LatentDrafterShape& drafter,
                                 TensorLister& lister);

struct Eagle3Shape {
  std::int64_t fused_width;  // of the target's streams beside each other
  std::int64_t draft_vocabulary;
  bool own_embedding;
};
void list_eagle3_tensors(const ModelShape& shape, const Eagle3Shape& drafter, TensorLister& lister);

}  // namespace outrider::checkpoint
