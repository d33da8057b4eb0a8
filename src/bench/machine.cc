#include "bench/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/clock.h"

namespace outrider::bench {
namespace {

constexpr std::int64_t kProbeBytes = std::int64_t{256} << 20;  // several times the largest cache of most

// 1, 2, 4, ... and the whole machine.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

std::string threads_text(int count) { return std::to_string(count) + (count == 1 ? " thread" : " threads"); }

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

MachineProbe::MachineProbe(kernels::Executor& executor, double seconds)
    : executor_(executor), seconds_(seconds), memory_(kernels::PageSize::Huge, kProbeBytes) {}

double MachineProbe::bandwidth() const { return memory_.read(executor_, seconds_); }

Limits MachineProbe::limits() const {
  const auto peak = [&](kernels::DotKind kind) {
    return kernels::probe_dot_peak(executor_, kind, seconds_ / 4);
  };
  return {.bandwidth = bandwidth(),
          .fp32 = peak(kernels::DotKind::Fp32),
          .bf16 = peak(kernels::DotKind::Bf16),
          .int8 = peak(kernels::DotKind::Int8)};
}

PartReport measure_machine(kernels::Target target, int thread_count, double seconds, int repeats) {
  PartReport part{.part = "machine"};
  const auto repeat = [&](auto measure) {
    std::vector<double> values;
    for (int i = 0; i < repeats; ++i) values.push_back(measure());
    return values;
  };
  const kernels::BandwidthProbe small(kernels::PageSize::Small, kProbeBytes);
  const kernels::BandwidthProbe huge(kernels::PageSize::Huge, kProbeBytes);
  for (const int threads : thread_counts(thread_count)) {
    kernels::Executor executor(target, threads, kernels::Arithmetic::Float32);
    const std::string text = threads_text(threads);
    part.add("read, 4 KiB pages, " + text, "B/s", Better::More,
             repeat([&] { return small.read(executor, seconds); }));
    part.add("read, 2 MiB pages, " + text, "B/s", Better::More,
             repeat([&] { return huge.read(executor, seconds); }));
    for (const auto& [kind, name] :
         {std::pair{kernels::DotKind::Fp32, "fp32"}, std::pair{kernels::DotKind::Bf16, "bf16"},
          std::pair{kernels::DotKind::Int8, "int8"}}) {
      if (kernels::probe_dot_peak(executor, kind, 0) == 0) continue;
      part.add(std::string(name) + " dot peak, " + text, "op/s", Better::More,
               repeat([&, kind = kind] { return kernels::probe_dot_peak(executor, kind, seconds); }));
    }
  }
  return part;
}

BusyWatch::BusyWatch() : start_(read()) {}

std::optional<BusyWatch::Times> BusyWatch::read() {
  std::ifstream file("/proc/stat");
  std::string word;
  if (!(file >> word) || word != "cpu") return std::nullopt;
  // user nice system idle iowait irq softirq steal: all but the two idle ones are somebody's.
  double ticks[8] = {}, busy = 0;
  for (double& tick : ticks) file >> tick;
  for (const int i : {0, 1, 2, 5, 6, 7}) busy += ticks[i];
  rusage usage{};
  if (!file || ::getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  return Times{.all = busy / static_cast<double>(::sysconf(_SC_CLK_TCK)),
               .own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
               .at = base::seconds_now()};
}

double BusyWatch::foreign_cores() const {
  const std::optional<Times> now = read();
  if (!start_ || !now || now->at <= start_->at) return 0;
  const double foreign = (now->all - start_->all) - (now->own - start_->own);
  return std::max(0.0, foreign / (now->at - start_->at));
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace outrider::bench
