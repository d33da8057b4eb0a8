// What this machine can do, measured in fractions of a second: read bandwidth and dot-product peaks. The
// yardsticks of every benchmark: two-thread bandwidth may jump between states, so probe right before and
// after what is measured, and quote shares.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/executor.h"

namespace outrider::kernels {

enum class PageSize { Small, Huge };  // 4 KiB; 2 MiB where the system grants them

// Holds memory well beyond the caches, touched once, so that it can be read again and again between
// measurements.
class BandwidthProbe {
 public:
  BandwidthProbe(PageSize pages, std::int64_t bytes);
  ~BandwidthProbe();
  BandwidthProbe(const BandwidthProbe&) = delete;
  BandwidthProbe& operator=(const BandwidthProbe&) = delete;

  // Bytes per second of the executor's threads together, each reading its own part: the median of passes over
  // about `seconds`.
  double read(Executor& executor, double seconds) const;

 private:
  std::byte* data_;
  std::int64_t bytes_;
};

enum class DotKind { Fp32, Bf16, Int8 };

// Operations per second (a multiply and an add are two) of all threads together on values in registers; 0
// where the target has no such instruction.
double probe_dot_peak(Executor& executor, DotKind kind, double seconds);

}  // namespace outrider::kernels
