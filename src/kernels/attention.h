// Attention over a paged cache. Every query row sees one contiguous range of positions of its sequence, which
// covers causal, sliding-window and a drafter's non-causal block alike.
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "kernels/executor.h"
#include "tensor/view.h"

namespace outrider::kernels {

enum class KvDtype { F32, Bf16 };

// One layer's keys and values, by block and kv head; element e of those of (block, head) stands at
// (block * kv_heads + head) * block_tokens * head_width + e.
//
//   values        [slot][channel]
//   keys, F32     [channel][slot]
//   keys, Bf16    [pair of channels][slot][2], then the last channel of an odd width: [slot]
//
// So scores of neighbouring positions lie in the lanes of one register, and no key is moved before it is
// used.
struct KvLayer {
  void* keys;
  void* values;
  KvDtype dtype;
  int block_tokens;
  int kv_heads;
  int head_width;
};

// The place e of a key's channel.
inline std::int64_t key_element(const KvLayer& layer, std::int64_t slot, std::int64_t channel) {
  const bool alone = layer.dtype == KvDtype::F32 || (channel + 1 == layer.head_width && channel % 2 == 0);
  if (alone) return channel * layer.block_tokens + slot;
  return (channel / 2 * layer.block_tokens + slot) * 2 + channel % 2;
}

struct KvRow {
  const base::BlockId* blocks;  // the sequence's block table; rows of one sequence share the pointer
  std::int64_t position;
};

// Stores rows of keys and values ([rows, kv_heads * head_width], already rotated) at their positions.
void store_kv(Executor& executor, std::span<const KvRow> rows, tensor::MatrixView<const float> keys,
              tensor::MatrixView<const float> values, const KvLayer& layer);

struct AttentionRow {
  const base::BlockId* blocks;
  std::int64_t first, last;  // sees positions [first, last), never empty
};

// out[r] = softmax(scale * q_r K^T) V per head; query head h reads kv head h / (heads / kv_heads). q and out
// are [rows, heads * head_width]. The result depends on the range and the stored values only: not on
// block_tokens, nor on which rows of the sequence run beside it.
void attend(Executor& executor, tensor::MatrixView<const float> q, int heads,
            std::span<const AttentionRow> rows, const KvLayer& layer, float scale,
            tensor::MatrixView<float> out);

}  // namespace outrider::kernels
