// The machine under the benchmark: its limits, and how busy others keep it.
#pragma once

#include <optional>
#include <string>

#include "bench/report.h"
#include "kernels/probe.h"

namespace outrider::bench {

// Probes that can be asked again and again; holds the memory that is read.
class MachineProbe {
 public:
  MachineProbe(kernels::Executor& executor, double seconds);
  double bandwidth() const;
  Limits limits() const;

 private:
  kernels::Executor& executor_;
  double seconds_;  // of each probe
  kernels::BandwidthProbe memory_;
};

// Bandwidth by threads and page size, dot-product peaks by kind.
PartReport measure_machine(kernels::Target target, int thread_count, double seconds, int repeats);

// Time that other processes took since it was made, in cores. Nothing where the system does not tell
// (/proc/stat).
class BusyWatch {
 public:
  BusyWatch();
  double foreign_cores() const;

 private:
  struct Times {
    double all, own, at;  // seconds of processor time of all, of this process, and the clock
  };
  static std::optional<Times> read();
  std::optional<Times> start_;
};

std::string processor_name();  // of /proc/cpuinfo; "unknown" where it does not say

}  // namespace outrider::bench
