#include "schedule/confidence_scheduler.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace outrider::schedule {
namespace {

struct Entry {
  double survival;
  std::size_t sequence, position;
};

// Falling survival; (sequence, position) among equals, so that a draft never overtakes the one before it.
std::vector<Entry> sort_entries(std::span<const SurvivalCurve> survival) {
  std::vector<Entry> entries;
  for (std::size_t sequence = 0; sequence < survival.size(); ++sequence) {
    const SurvivalCurve& curve = survival[sequence];
    for (std::size_t position = 0; position < curve.size(); ++position) {
      OUTRIDER_CHECK(curve[position] <= (position == 0 ? 1 : curve[position - 1]) && curve[position] >= 0);
      if (curve[position] > 0) entries.push_back({curve[position], sequence, position});
    }
  }
  // Made in order of (sequence, position), which a stable sort keeps.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.survival > b.survival; });
  return entries;
}

std::vector<int> count_first(std::span<const Entry> entries, std::size_t count, std::size_t sequence_count) {
  std::vector<int> lengths(sequence_count, 0);
  for (const Entry& entry : entries.first(std::min(count, entries.size()))) {
    ++lengths[entry.sequence];
    OUTRIDER_CHECK(static_cast<std::size_t>(lengths[entry.sequence]) == entry.position + 1);
  }
  return lengths;
}

// Expected tokens per second with ever more entries taken.
class Rate {
 public:
  Rate(std::size_t sequence_count, const VerifyCosts& costs)
      : costs_(costs),
        rows_(static_cast<std::int64_t>(sequence_count) + costs.other_rows),
        tokens_(static_cast<double>(sequence_count)) {}

  double now() const { return tokens_ / (costs_.spent_seconds + costs_.verify.seconds_at(rows_)); }
  double take(double survival) {
    ++rows_;
    tokens_ += survival;
    return now();
  }

 private:
  const VerifyCosts& costs_;
  std::int64_t rows_;
  double tokens_;
};

}  // namespace

std::vector<int> plan_lengths_early_stop(std::span<const SurvivalCurve> survival, const VerifyCosts& costs) {
  const std::vector<Entry> entries = sort_entries(survival);
  Rate rate(survival.size(), costs);
  double best = rate.now();
  std::size_t count = 0;
  for (; count < entries.size(); ++count) {
    const double next = rate.take(entries[count].survival);
    if (!(next > best)) break;
    best = next;
  }
  return count_first(entries, count, survival.size());
}

std::vector<int> plan_lengths_argmax(std::span<const SurvivalCurve> survival, const VerifyCosts& costs) {
  const std::vector<Entry> entries = sort_entries(survival);
  Rate rate(survival.size(), costs);
  double best = rate.now();
  std::size_t best_count = 0;
  for (std::size_t count = 1; count <= entries.size(); ++count) {
    const double next = rate.take(entries[count - 1].survival);
    if (!(next > best)) continue;
    best = next;
    best_count = count;
  }
  return count_first(entries, best_count, survival.size());
}

std::vector<int> plan_lengths_top(std::span<const SurvivalCurve> survival, std::int64_t capacity) {
  OUTRIDER_CHECK(capacity >= 0);
  return count_first(sort_entries(survival), static_cast<std::size_t>(capacity), survival.size());
}

std::vector<int> plan_lengths_delayed(std::span<const SurvivalCurve> earlier,
                                      std::span<const SurvivalCurve> current, const VerifyCosts& costs) {
  OUTRIDER_CHECK(earlier.size() == current.size());
  const std::vector<int> lengths = plan_lengths_argmax(earlier, costs);
  return plan_lengths_top(current, std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
}

}  // namespace outrider::schedule
