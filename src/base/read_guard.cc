#include "base/read_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace outrider::base {
namespace {

struct Range {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};  // 0: not guarded
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> harmed{false};
};

// Lock-free and of fixed size, since a signal handler reads it.
std::array<Range, 1024> ranges;
struct sigaction earlier_action;

// Only calls that are bare system calls. Everything from the faulting page on is replaced: behind the end of
// a cut file nothing is left, and a failing disk makes the whole file suspect.
void on_bus_error(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Range& range : ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const std::uintptr_t end = range.end.load(std::memory_order_relaxed);
    if (begin == 0 || address < begin || address >= end) continue;
    const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t page = address / page_bytes * page_bytes;
    void* zeros = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    range.harmed.store(true, std::memory_order_release);
    return;
  }
  // Not ours: the instruction runs again and meets the earlier action. A signal that was sent has no
  // instruction to run again.
  ::sigaction(SIGBUS, &earlier_action, nullptr);
  if (info->si_code <= 0) ::raise(SIGBUS);
}

bool install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, &earlier_action) == 0;
}

}  // namespace

int guard_range(const std::byte* data, std::size_t size) {
  static const bool installed = install_handler();
  if (!installed || size == 0) return -1;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].taken.exchange(true)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    ranges[i].harmed.store(false);
    ranges[i].end.store(begin + size);
    ranges[i].begin.store(begin, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

void release_range(int place) {
  if (place < 0) return;
  Range& range = ranges[static_cast<std::size_t>(place)];
  range.begin.store(0, std::memory_order_release);
  range.taken.store(false, std::memory_order_release);
}

bool range_was_harmed(int place) {
  return place >= 0 && ranges[static_cast<std::size_t>(place)].harmed.load(std::memory_order_acquire);
}

}  // namespace outrider::base
