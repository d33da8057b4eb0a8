#include "kernels/probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/kernel_table.h"

namespace outrider::kernels {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The median of work(): amount per second, repeated until `seconds` have passed, three times at least.
template <class Work>
double median_rate(double seconds, Work work) {
  std::vector<double> rates;
  const double end = now() + seconds;
  while (rates.size() < 3 || now() < end) {
    const double start = now();
    const double amount = work();
    rates.push_back(amount / (now() - start));
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace

BandwidthProbe::BandwidthProbe(PageSize pages, std::int64_t bytes)
    : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
  void* memory = std::aligned_alloc(static_cast<std::size_t>(kHugePage), static_cast<std::size_t>(bytes_));
  OUTRIDER_CHECK_MSG(memory != nullptr, "out of memory");
  (void)::madvise(memory, static_cast<std::size_t>(bytes_),
                  pages == PageSize::Huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(memory, 1, static_cast<std::size_t>(bytes_));
  data_ = static_cast<std::byte*>(memory);
}

BandwidthProbe::~BandwidthProbe() { std::free(data_); }

double BandwidthProbe::read(Executor& executor, double seconds) const {
  const int threads = executor.pool().thread_count();
  return median_rate(seconds, [&] {
    executor.pool().run([&](int thread) {
      const Share share = share_of(bytes_, thread, threads, kHugePage);
      executor.table().read_bytes(data_ + share.first, share.last - share.first);
    });
    return static_cast<double>(bytes_);
  });
}

double probe_dot_peak(Executor& executor, DotKind kind, double seconds) {
  constexpr std::int64_t kRounds = 200000;
  if (executor.table().dot_burst(kind, 1) == 0) return 0;
  return median_rate(seconds, [&] {
    executor.pool().run([&](int) { executor.table().dot_burst(kind, kRounds); });
    return static_cast<double>(executor.table().dot_burst(kind, 1) * kRounds *
                               executor.pool().thread_count());
  });
}

}  // namespace outrider::kernels
