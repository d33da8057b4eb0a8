#include "kernels/pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/check.h"

namespace outrider::kernels {
namespace {

constexpr std::size_t kCacheLine = 64;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The processors this process may use, read before any pool pins a thread: a pinned thread would report its
// own one only.
const std::vector<int>& allowed_processors() {
  static const std::vector<int> processors = [] {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
      }
    }
    return found;
  }();
  return processors;
}

// Failure to pin costs speed only, so the result is not looked at.
void allow_processors(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : processors) CPU_SET(cpu, &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

struct ThreadPool::State {
  // Written by the caller before `generation` moves, read by workers after they have seen it move.
  void (*call)(void*, int) = nullptr;
  void* context = nullptr;
  bool stop = false;
  alignas(kCacheLine) std::atomic<std::uint32_t> generation{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> sleepers{0};
  struct alignas(kCacheLine) Slot {
    std::atomic<std::uint32_t> finished{0};                  // the last generation this worker has completed
    alignas(kCacheLine) std::atomic<std::int64_t> taken{0};  // pieces of this thread's run
  };
  std::vector<Slot> slots;
  std::vector<std::thread> workers;
  int spins = 0;
  bool pinned = false;

  template <class Ready>
  bool spin_until(Ready ready) const {
    for (int i = 0; i < spins; ++i) {
      if (ready()) return true;
      relax();
    }
    return ready();
  }

  // Spin, then yield, and after a while without work sleep: an idle engine must not burn its cores.
  void await_work(std::uint32_t seen) {
    const auto moved = [&] { return generation.load(std::memory_order_acquire) != seen; };
    if (spin_until(moved)) return;
    const auto sleep_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < sleep_at) {
      ::sched_yield();
      if (moved()) return;
    }
    sleepers.fetch_add(1);
    generation.wait(seen);
    sleepers.fetch_sub(1);
  }

  void work(int thread) {
    if (pinned) allow_processors({allowed_processors()[static_cast<std::size_t>(thread)]});
    Slot& slot = slots[static_cast<std::size_t>(thread)];
    for (std::uint32_t seen = 0;;) {
      await_work(seen);
      seen = generation.load(std::memory_order_acquire);
      if (stop) return;
      call(context, thread);
      slot.finished.store(seen, std::memory_order_release);
    }
  }

  void publish() {
    generation.fetch_add(1);
    if (sleepers.load() != 0) generation.notify_all();
  }
};

ThreadPool::ThreadPool(int thread_count) : thread_count_(thread_count), state_(std::make_unique<State>()) {
  OUTRIDER_CHECK(thread_count >= 1);
  const std::size_t count = static_cast<std::size_t>(thread_count);
  const bool oversubscribed = count > allowed_processors().size();
  // One thread is left to the system; more threads than processors would only hinder each other by spinning
  // or pinning.
  state_->pinned = count > 1 && !oversubscribed;
  state_->spins = oversubscribed ? 0 : 20000;
  state_->slots = std::vector<State::Slot>(count);
  if (state_->pinned) allow_processors({allowed_processors()[0]});
  for (int thread = 1; thread < thread_count; ++thread) {
    state_->workers.emplace_back([state = state_.get(), thread] { state->work(thread); });
  }
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->publish();
  for (std::thread& worker : state_->workers) worker.join();
  if (state_->pinned) allow_processors(allowed_processors());
}

constexpr std::int64_t kPieces = 16;  // of a run

void ThreadPool::reset_pieces() {
  for (State::Slot& slot : state_->slots) slot.taken.store(0, std::memory_order_relaxed);
}

Share ThreadPool::take_piece(Share run, int owner) {
  const std::int64_t left = piecewise(run), size = (left + kPieces - 1) / kPieces;
  const std::int64_t taken =
      state_->slots[static_cast<std::size_t>(owner)].taken.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t first = std::min(run.last, run.last - left + taken * size);
  return {first, std::min(run.last, first + size)};
}

void ThreadPool::run_erased(void (*call)(void*, int), void* context) {
  State& state = *state_;
  state.call = call;
  state.context = context;
  if (thread_count_ > 1) state.publish();
  call(context, 0);
  const std::uint32_t current = state.generation.load(std::memory_order_relaxed);
  for (int thread = 1; thread < thread_count_; ++thread) {
    const auto done = [&] {
      return state.slots[static_cast<std::size_t>(thread)].finished.load(std::memory_order_acquire) ==
             current;
    };
    if (state.spin_until(done)) continue;
    while (!done()) ::sched_yield();
  }
}

Share share_of(std::int64_t count, int thread, int thread_count, std::int64_t unit) {
  const std::int64_t units = (count + unit - 1) / unit;
  const std::int64_t base = units / thread_count, extra = units % thread_count;
  const std::int64_t first = thread * base + (thread < extra ? thread : extra);
  const std::int64_t last = first + base + (thread < extra ? 1 : 0);
  return {first * unit < count ? first * unit : count, last * unit < count ? last * unit : count};
}

}  // namespace outrider::kernels
