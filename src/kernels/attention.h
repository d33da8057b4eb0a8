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

// One layer's keys and values. Element d of the key of (block, kv head, slot) stands at
// ((block * kv_heads + head) * block_tokens + slot) * head_width + d; values alike.
struct KvLayer {
  void* keys;
  void* values;
  KvDtype dtype;
  int block_tokens;
  int kv_heads;
  int head_width;
};

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
