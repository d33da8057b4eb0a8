// CachePlan: the value that configures a paged key-value store. One store per role: target and drafter never
// share one.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"

namespace outrider::cache {

struct LayerCache {
  int kv_heads;
  int head_width;
  friend bool operator==(const LayerCache&, const LayerCache&) = default;
};

struct CachePlan {
  int block_tokens = 16;
  std::int64_t block_count;  // no default: the caller must say
  kernels::KvDtype dtype;
  std::vector<LayerCache> layers;
  friend bool operator==(const CachePlan&, const CachePlan&) = default;

  std::int64_t bytes_per_token() const {
    std::int64_t bytes = 0;
    for (const LayerCache& layer : layers) {
      bytes += std::int64_t{2} * layer.kv_heads * layer.head_width * (dtype == kernels::KvDtype::F32 ? 4 : 2);
    }
    return bytes;
  }
};

// Blocks that `tokens` positions of one sequence need.
inline std::int64_t blocks_for(std::int64_t tokens, int block_tokens) {
  return (tokens + block_tokens - 1) / block_tokens;
}

}  // namespace outrider::cache
