#include "text/merge_table.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace outrider::text {
namespace {

// A symbol of the piece in a doubly linked list by index; a merged-away symbol has the id -1.
struct Symbol {
  base::TokenId id;
  std::int32_t previous;
  std::int32_t next;
};

struct Candidate {
  std::int32_t rank;
  std::int32_t left;  // index of its left symbol
  base::TokenId result;
  friend bool operator>(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }
};

}  // namespace

MergeTable::MergeTable(const std::vector<MergeRule>& rules, std::int32_t id_count) {
  row_starts_.assign(static_cast<std::size_t>(id_count) + 1, 0);
  for (const MergeRule& rule : rules) ++row_starts_[static_cast<std::size_t>(rule.left) + 1];
  for (std::size_t row = 1; row < row_starts_.size(); ++row) row_starts_[row] += row_starts_[row - 1];
  entries_.resize(rules.size());
  std::vector<std::uint32_t> fill(row_starts_.begin(), row_starts_.end() - 1);
  for (std::size_t rank = 0; rank < rules.size(); ++rank) {
    const MergeRule& rule = rules[rank];
    entries_[fill[static_cast<std::size_t>(rule.left)]++] = {rule.right, static_cast<std::int32_t>(rank),
                                                             rule.result};
  }
  for (std::size_t row = 0; row + 1 < row_starts_.size(); ++row) {
    std::sort(entries_.begin() + row_starts_[row], entries_.begin() + row_starts_[row + 1],
              [](const Entry& a, const Entry& b) { return a.right < b.right; });
  }
}

std::optional<MergeTable::Merge> MergeTable::find(base::TokenId left, base::TokenId right) const {
  const auto row = static_cast<std::size_t>(left);
  OUTRIDER_DCHECK(left >= 0 && row + 1 < row_starts_.size());
  const auto begin = entries_.begin() + row_starts_[row], end = entries_.begin() + row_starts_[row + 1];
  const auto found = std::lower_bound(begin, end, right,
                                      [](const Entry& entry, base::TokenId id) { return entry.right < id; });
  if (found == end || found->right != right) return std::nullopt;
  return Merge{found->rank, found->result};
}

void MergeTable::merge(const std::vector<base::TokenId>& ids_in, std::vector<base::TokenId>& ids) const {
  const auto count = static_cast<std::int32_t>(ids_in.size());
  std::vector<Symbol> symbols(ids_in.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto at = [&](std::int32_t index) -> Symbol& { return symbols[static_cast<std::size_t>(index)]; };
  const auto offer = [&](std::int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    if (const auto merge = find(at(left).id, at(at(left).next).id))
      queue.push({merge->rank, left, merge->result});
  };
  for (std::int32_t i = 0; i < count; ++i) {
    at(i) = {ids_in[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1};
  }
  for (std::int32_t i = 0; i < count; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate candidate = queue.top();
    queue.pop();
    Symbol& left = at(candidate.left);
    if (left.id < 0 || left.next < 0) continue;
    // The pair may have changed since it was offered; then its rank did too, since pairs are distinct.
    const auto now = find(left.id, at(left.next).id);
    if (!now || now->rank != candidate.rank) continue;
    Symbol& right = at(left.next);
    left.id = candidate.result;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = candidate.left;
    offer(left.previous);
    offer(candidate.left);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) ids.push_back(symbol.id);
  }
}

}  // namespace outrider::text
