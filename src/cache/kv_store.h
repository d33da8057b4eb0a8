// The bytes of a paged key-value cache: per layer, keys and values of every block. Cannot be copied.
#pragma once

#include <vector>

#include "base/ids.h"
#include "cache/plan.h"
#include "kernels/attention.h"
#include "tensor/buffer.h"

namespace outrider::cache {

class KvStore {
 public:
  explicit KvStore(CachePlan plan);
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;

  const CachePlan& plan() const { return plan_; }
  kernels::KvLayer layer(int index);
  // Copies a block's bytes in every layer.
  void duplicate_block(base::BlockId source, base::BlockId target);
  // The stored bytes of one position in all layers, keys then values, heads in order: to compare states.
  std::vector<std::byte> position_bytes(const base::BlockId* blocks, std::int64_t position) const;

 private:
  std::size_t block_bytes(std::size_t layer) const;
  kernels::KvLayer shape_of(std::size_t layer) const;  // without places
  CachePlan plan_;
  std::vector<tensor::Buffer> keys_, values_;  // one a layer; attention.h says what lies where
};

}  // namespace outrider::cache
