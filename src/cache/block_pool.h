// Which blocks are free, and by how many tables each is held. No free block is an outcome, not an error.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"

namespace outrider::cache {

class BlockPool {
 public:
  explicit BlockPool(std::int64_t block_count);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::optional<base::BlockId> take();  // held once; the lowest free id, so that runs repeat
  void hold(base::BlockId block);       // one more holder
  void release(base::BlockId block);    // free again when nobody holds it
  int holder_count(base::BlockId block) const;
  std::int64_t free_count() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t block_count() const { return static_cast<std::int64_t>(holders_.size()); }

 private:
  std::vector<int> holders_;
  std::vector<base::BlockId> free_;  // a heap, lowest id on top
};

}  // namespace outrider::cache
