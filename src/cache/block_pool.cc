#include "cache/block_pool.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace outrider::cache {

BlockPool::BlockPool(std::int64_t block_count) : holders_(static_cast<std::size_t>(block_count), 0) {
  free_.reserve(holders_.size());
  for (std::int32_t id = 0; id < block_count; ++id)
    free_.push_back(base::BlockId{id});  // ascending: a heap already
}

std::optional<base::BlockId> BlockPool::take() {
  if (free_.empty()) return std::nullopt;
  std::pop_heap(free_.begin(), free_.end(), std::greater<>());
  const base::BlockId block = free_.back();
  free_.pop_back();
  holders_[static_cast<std::size_t>(block)] = 1;
  return block;
}

void BlockPool::hold(base::BlockId block) {
  OUTRIDER_CHECK(holder_count(block) > 0);
  ++holders_[static_cast<std::size_t>(block)];
}

void BlockPool::release(base::BlockId block) {
  OUTRIDER_CHECK(holder_count(block) > 0);
  if (--holders_[static_cast<std::size_t>(block)] > 0) return;
  free_.push_back(block);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

int BlockPool::holder_count(base::BlockId block) const {
  const auto index = static_cast<std::size_t>(block);
  OUTRIDER_CHECK(index < holders_.size());
  return holders_[index];
}

}  // namespace outrider::cache
