// The blocks of one sequence, in the order of positions. Rejected drafts are given back by truncate(); fork()
// shares blocks and a shared one is copied before it is written.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/block_pool.h"
#include "cache/kv_store.h"

namespace outrider::cache {

class BlockTable {
 public:
  BlockTable(BlockPool& pool, int block_tokens) : pool_(&pool), block_tokens_(block_tokens) {}
  ~BlockTable() { truncate(0); }
  BlockTable(BlockTable&& other) noexcept;
  BlockTable& operator=(BlockTable&& other) noexcept;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // Makes positions [first, last) writable: blocks for all of them, none shared from `first` on (a shared
  // block is duplicated in `store`). False, with nothing changed, if the pool has too few free blocks.
  bool reserve(std::int64_t first, std::int64_t last, KvStore& store);
  // Room for the ids of `tokens` positions, so that growing to them allocates nothing.
  void expect(std::int64_t tokens);
  // Gives back the blocks beyond `tokens` positions.
  void truncate(std::int64_t tokens);
  // A table of the same content up to `tokens`, sharing the blocks.
  BlockTable fork(std::int64_t tokens) const;

  const base::BlockId* data() const { return blocks_.data(); }
  std::int64_t block_count() const { return static_cast<std::int64_t>(blocks_.size()); }
  // Blocks that nobody else holds: what truncate(0) would free.
  std::int64_t sole_count() const;
  // Blocks that reserve(first, last) would take from the pool.
  std::int64_t blocks_needed(std::int64_t first, std::int64_t last) const;

 private:
  BlockPool* pool_;
  int block_tokens_;
  std::vector<base::BlockId> blocks_;
};

}  // namespace outrider::cache
