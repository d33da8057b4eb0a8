// The merges of a BPE vocabulary, and the merge loop: the pair of lowest rank is joined first, of equal pairs
// the leftmost. The time is n log n in the piece, whatever the file holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace outrider::text {

// One merge; its rank is its place in the list.
struct MergeRule {
  base::TokenId left;
  base::TokenId right;
  base::TokenId result;
};

class MergeTable {
 public:
  struct Merge {
    std::int32_t rank;
    base::TokenId result;
  };

  MergeTable() = default;
  // Pairs are distinct, ids lie in [0, id_count).
  MergeTable(const std::vector<MergeRule>& rules, std::int32_t id_count);

  std::optional<Merge> find(base::TokenId left, base::TokenId right) const;

  // Merges `symbols` as far as the rules go and appends what is left to `ids`.
  void merge(const std::vector<base::TokenId>& symbols, std::vector<base::TokenId>& ids) const;

 private:
  struct Entry {
    base::TokenId right;
    std::int32_t rank;
    base::TokenId result;
  };
  // Entries grouped by left symbol, sorted by right one: no hash that a file could be written against.
  std::vector<std::uint32_t> row_starts_;  // [id_count + 1]
  std::vector<Entry> entries_;
};

}  // namespace outrider::text
