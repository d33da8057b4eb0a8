#include "schedule/draft_governor.h"

#include <algorithm>

namespace outrider::schedule {

DraftGovernor::Sequence& DraftGovernor::sequence_of(base::SequenceId id) {
  const auto [place, is_new] = sequences_.try_emplace(static_cast<std::uint64_t>(id));
  if (is_new) {
    const AcceptanceAverages::Belief belief{.acceptance = common_.acceptance_at(0),
                                            .weight = options_.belief.weight};
    place->second.averages = AcceptanceAverages(belief);
  }
  return place->second;
}

double DraftGovernor::step_seconds(std::span<const int> counts, std::int64_t other_rows) const {
  std::int64_t rows = other_rows, drafting = 0;
  for (const int count : counts) {
    rows += 1 + count;
    drafting += count > 0 ? 1 : 0;
  }
  return costs_.draft_seconds(drafting) + costs_.verify.seconds_at(rows);
}

// The best expected rate over all numbers of drafts, taken in falling order of survival; each sequence that
// joins in costs drafting.
std::vector<int> DraftGovernor::plan_paying(std::span<const Request> requests, std::int64_t other_rows) {
  struct Entry {
    double survival;
    std::size_t index;
  };
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (const double survival : sequence_of(requests[i].id).averages.survival(requests[i].draft_max)) {
      entries.push_back({.survival = survival, .index = i});
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.survival > b.survival; });
  const auto seconds = [&](std::int64_t drafting, std::int64_t rows) {
    return costs_.draft_seconds(drafting) + costs_.verify.seconds_at(rows + other_rows);
  };
  std::vector<int> counts(requests.size(), 0);
  auto rows = static_cast<std::int64_t>(requests.size());
  std::int64_t drafting = 0;
  double tokens = static_cast<double>(rows), best_rate = tokens / seconds(drafting, rows);
  std::size_t best_count = 0;
  for (std::size_t taken = 1; taken <= entries.size(); ++taken) {
    const Entry& entry = entries[taken - 1];
    drafting += counts[entry.index]++ == 0 ? 1 : 0;
    tokens += entry.survival;
    const double rate = tokens / seconds(drafting, ++rows);
    if (!(rate > best_rate)) continue;
    best_rate = rate;
    best_count = taken;
  }
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t i = 0; i < best_count; ++i) ++counts[entries[i].index];
  return counts;
}

// Gives the request at `index` the drafts of a trial, if the credit allows or `is_free`.
bool DraftGovernor::try_trial(std::span<const Request> requests, std::int64_t other_rows, std::size_t index,
                              bool is_free, std::vector<int>& counts) {
  const double before = step_seconds(counts, other_rows);
  counts[index] = std::min(options_.trial_drafts, requests[index].draft_max);
  const double extra = step_seconds(counts, other_rows) - before;
  if (!is_free && extra > credit_seconds_) {
    counts[index] = 0;
    return false;
  }
  credit_seconds_ -= extra;
  // A token is worth what it costs where nobody drafts.
  const double seconds_per_token = before / static_cast<double>(requests.size());
  sequence_of(requests[index].id).trial_price = 1 + extra / seconds_per_token;
  return true;
}

// Trials under way go on, on credit if need be; a new one starts where drafting was off for longest, once its
// first round is saved up.
void DraftGovernor::add_trials(std::span<const Request> requests, std::int64_t other_rows,
                               std::vector<int>& counts) {
  std::size_t candidate = requests.size();
  int longest = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Sequence& sequence = sequence_of(requests[i].id);
    if (counts[i] > 0 || requests[i].draft_max == 0) {
      sequence.trial_round = 0;
    } else if (sequence.trial_round > 0 && sequence.trial_round < options_.trial_rounds) {
      try_trial(requests, other_rows, i, true, counts);
      ++sequence.trial_round;
    } else {
      sequence.trial_round = 0;
      if (sequence.rounds_off <= longest) continue;
      longest = sequence.rounds_off;
      candidate = i;
    }
  }
  if (candidate == requests.size() || !try_trial(requests, other_rows, candidate, false, counts)) return;
  sequence_of(requests[candidate].id).trial_round = 1;
}

std::vector<int> DraftGovernor::plan_drafts(std::span<const Request> requests, std::int64_t other_rows) {
  if (requests.empty()) return {};
  std::vector<int> counts = plan_paying(requests, other_rows);
  // Saved up to one round of trial, so that a long time without need does not buy a long time of trials.
  std::vector<int> dearest(requests.size(), 0);
  const double cheap = step_seconds(dearest, other_rows);
  dearest[0] = options_.trial_drafts;
  const double earned = options_.trial_share * step_seconds(counts, other_rows);
  credit_seconds_ = std::min(credit_seconds_ + earned, 2 * (step_seconds(dearest, other_rows) - cheap));
  add_trials(requests, other_rows, counts);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    int& rounds_off = sequence_of(requests[i].id).rounds_off;
    rounds_off = counts[i] > 0 ? 0 : rounds_off + 1;
  }
  return counts;
}

void DraftGovernor::observe(base::SequenceId id, int verified, int accepted) {
  if (verified == 0) return;
  Sequence& sequence = sequence_of(id);
  common_.observe(verified, accepted);
  if (sequence.trial_round > 0) {
    const bool pays = accepted + 1 > sequence.trial_price;
    // Good news after a long silence: what was seen before may be out of date.
    if (pays && sequence.trial_round == 1) sequence.averages.fade(0.25);
    if (!pays) sequence.trial_round = 0;
  }
  sequence.averages.observe(verified, accepted);
}

}  // namespace outrider::schedule
