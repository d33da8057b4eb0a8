#include "cache/block_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cache/plan.h"

namespace outrider::cache {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_), block_tokens_(other.block_tokens_), blocks_(std::exchange(other.blocks_, {})) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_tokens_, other.block_tokens_);
  std::swap(blocks_, other.blocks_);
  return *this;
}

std::int64_t BlockTable::blocks_needed(std::int64_t first, std::int64_t last) const {
  const std::int64_t wanted = blocks_for(last, block_tokens_);
  std::int64_t needed = std::max<std::int64_t>(0, wanted - block_count());
  for (std::int64_t i = first / block_tokens_; i < std::min(wanted, block_count()); ++i) {
    needed += pool_->holder_count(blocks_[static_cast<std::size_t>(i)]) > 1 ? 1 : 0;
  }
  return needed;
}

std::int64_t BlockTable::sole_count() const {
  return std::count_if(blocks_.begin(), blocks_.end(),
                       [&](base::BlockId block) { return pool_->holder_count(block) == 1; });
}

bool BlockTable::reserve(std::int64_t first, std::int64_t last, KvStore& store) {
  OUTRIDER_CHECK(first >= 0 && first <= last);
  if (blocks_needed(first, last) > pool_->free_count()) return false;
  const std::int64_t wanted = blocks_for(last, block_tokens_);
  for (std::int64_t i = first / block_tokens_; i < std::min(wanted, block_count()); ++i) {
    base::BlockId& block = blocks_[static_cast<std::size_t>(i)];
    if (pool_->holder_count(block) == 1) continue;
    const base::BlockId own = *pool_->take();
    store.duplicate_block(block, own);
    pool_->release(block);
    block = own;
  }
  while (block_count() < wanted) blocks_.push_back(*pool_->take());
  return true;
}

void BlockTable::expect(std::int64_t tokens) {
  blocks_.reserve(static_cast<std::size_t>(blocks_for(tokens, block_tokens_)));
}

void BlockTable::truncate(std::int64_t tokens) {
  const std::int64_t kept = blocks_for(tokens, block_tokens_);
  while (block_count() > kept) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
}

BlockTable BlockTable::fork(std::int64_t tokens) const {
  const std::int64_t shared = blocks_for(tokens, block_tokens_);
  OUTRIDER_CHECK(shared <= block_count());
  BlockTable copy(*pool_, block_tokens_);
  for (std::int64_t i = 0; i < shared; ++i) {
    const base::BlockId block = blocks_[static_cast<std::size_t>(i)];
    pool_->hold(block);
    copy.blocks_.push_back(block);
  }
  return copy;
}

}  // namespace outrider::cache
