// How many drafts of each sequence the target verifies: the hardware-aware prefix scheduler of DSpark (arXiv
// 2607.05147, 3.2.2, algorithm 1), its variants, and the terms on which each is lossless. Pure functions of
// survival estimates and measured costs.
//
// With sampled drafts the decision whether draft k is verified must not depend on draft k itself. survival[k]
// may depend on the drafts before k only; then stopping at the first entry that does not pay, and taking the
// best of a capacity fixed beforehand, are lossless, and the best of all totals is not: it looks at later
// entries, which depend on draft k. Where drafts are a function of the text so far (greedy drafts), or the
// text does not depend on them (drafter-invariant acceptance), all three are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/cost_curve.h"

namespace outrider::schedule {

// Entry j is the estimated chance that drafts 0..j are all accepted: in [0, 1], never rising. One curve per
// sequence, as long as its drafts; the order of the sequences breaks ties, before the position does.
using SurvivalCurve = std::vector<double>;

struct VerifyCosts {
  const CostCurve& verify;      // by rows
  std::int64_t other_rows = 0;  // rows of the step beside anchors and drafts: prefill
  double spent_seconds = 0;     // of the step whatever is chosen now: drafting, that is done
};

// Algorithm 1: entries in falling order of survival, taken while each raises expected tokens per second;
// stops at the first that does not. Lossless also with sampled drafts; the best choice where the rate has a
// single peak.
std::vector<int> plan_lengths_early_stop(std::span<const SurvivalCurve> survival, const VerifyCosts& costs);

// The best total, peaks behind valleys included. Lossless only where drafts are greedy or acceptance is
// drafter-invariant, or where the curves do not belong to the drafts that are being judged.
std::vector<int> plan_lengths_argmax(std::span<const SurvivalCurve> survival, const VerifyCosts& costs);

// The `capacity` entries of highest survival, ties by (sequence, position). Lossless if the capacity does not
// depend on these drafts.
std::vector<int> plan_lengths_top(std::span<const SurvivalCurve> survival, std::int64_t capacity);

// The form for serving (arXiv 2607.05147, 5.2): the capacity is the best total for curves of earlier steps,
// and goes to the current entries of highest survival. Lossless with a cost curve of any shape. `earlier`
// holds a curve per sequence too (SurvivalDelay).
std::vector<int> plan_lengths_delayed(std::span<const SurvivalCurve> earlier,
                                      std::span<const SurvivalCurve> current, const VerifyCosts& costs);

}  // namespace outrider::schedule
