// The parts that run on the target alone. Each probes the bandwidth right before and after each repeat and
// takes its ratios within a repeat: the bandwidth of two threads jumps between states, and a ratio of numbers
// from different states says nothing.
#pragma once

#include "base/clock.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/settings.h"
#include "bench/target.h"
#include "engine/engine_plan.h"

namespace outrider::bench {

struct Subject {
  TargetRun& run;
  const MachineProbe& probe;
  const Settings& settings;
  const engine::EnginePlan& plan;
};

PartReport measure_decode(const Subject& subject);
PartReport measure_verify(const Subject& subject);
PartReport measure_prefill(const Subject& subject);
PartReport measure_moe(const Subject& subject);

// Repeats `body(repeat)` as often as asked, but not beyond the seconds of a part; once at least.
template <class Body>
int repeat(const Settings& settings, double share, Body body) {
  const double end = base::seconds_now() + settings.part_seconds * share;
  int done = 0;
  while (done < settings.repeats && (done == 0 || base::seconds_now() < end)) body(done++);
  return done;
}

}  // namespace outrider::bench
