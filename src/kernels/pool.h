// Fork-join workers, pinned one to a core. Workers spin for a while, then yield, so that a fork costs well
// under a microsecond while work keeps coming. One pool per engine, passed in, used by one caller at a time.
// No allocation and no lock per run.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace outrider::kernels {

// The share of `count` items of one thread: contiguous, sizes differ by at most one unit of `unit` items.
struct Share {
  std::int64_t first, last;  // [first, last)
};
Share share_of(std::int64_t count, int thread, int thread_count, std::int64_t unit = 1);

class ThreadPool {
 public:
  // The caller is thread 0; `thread_count` - 1 workers are started.
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return thread_count_; }

  // body(thread_index) on every thread; returns when all are done.
  template <class Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased([](void* context, int thread) { (*static_cast<Plain*>(context))(thread); },
               const_cast<void*>(static_cast<const void*>(&body)));
  }

  // body(thread, share) until all of `count` items are done. Each thread begins with a contiguous run of its
  // own; the last quarter of every run goes in small pieces to whoever is free, since memory serves one
  // thread faster than another, and not always the same. Results must not depend on who gets a piece.
  template <class Body>
  void run_balanced(std::int64_t count, Body&& body) {
    reset_pieces();
    run([&](int thread) {
      const Share own = share_of(count, thread, thread_count_);
      body(thread, Share{own.first, own.last - piecewise(own)});
      for (int i = 0; i < thread_count_; ++i) {
        const Share run = share_of(count, (thread + i) % thread_count_, thread_count_);
        for (;;) {
          const Share piece = take_piece(run, (thread + i) % thread_count_);
          if (piece.first >= piece.last) break;
          body(thread, piece);
        }
      }
    });
  }

 private:
  static std::int64_t piecewise(Share run) { return (run.last - run.first) / 4; }
  void reset_pieces();
  Share take_piece(Share run, int owner);  // the next of those not yet taken, or empty
  void run_erased(void (*call)(void*, int), void* context);
  struct State;
  int thread_count_;
  std::unique_ptr<State> state_;
};

// About as many elements as one thread rounds, scales or adds while a fork wakes the others.
inline constexpr std::int64_t kForkElements = 4096;

// body(share) of `count` items for every thread; in one piece on the caller's where there is one item, or so
// few elements in all that a fork would cost more than it gains.
template <class Body>
void run_shares(ThreadPool& pool, std::int64_t count, std::int64_t elements, Body&& body) {
  if (count <= 1 || elements <= kForkElements || pool.thread_count() == 1) return body(Share{0, count});
  pool.run([&](int thread) { body(share_of(count, thread, pool.thread_count())); });
}

}  // namespace outrider::kernels
