#include "kernels/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace outrider::kernels {
namespace {

TEST(ThreadPool, RunsTheBodyOncePerThreadAndWaitsForAll) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    std::vector<int> calls(static_cast<std::size_t>(threads), 0);
    for (int run = 1; run <= 200; ++run) {
      pool.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
      for (const int count : calls) ASSERT_EQ(count, run);
    }
  }
}

TEST(ThreadPool, BalancedRunsDoEveryItemOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 64, 100, 1003}) {
      for (int run = 0; run < 20; ++run) {
        std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
        pool.run_balanced(count, [&](int thread, Share share) {
          ASSERT_TRUE(thread >= 0 && thread < threads);
          for (std::int64_t i = share.first; i < share.last; ++i) ++done[static_cast<std::size_t>(i)];
        });
        for (const std::atomic<int>& times : done) ASSERT_EQ(times.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, WakesWorkersThatHaveGoneToSleep) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  pool.run([&](int) { ++calls; });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  pool.run([&](int) { ++calls; });
  EXPECT_EQ(calls.load(), 4);
}

TEST(ThreadPool, SeveralPoolsLiveSideBySide) {
  ThreadPool a(2), b(3);
  int sum[5] = {};
  for (int run = 0; run < 100; ++run) {
    a.run([&](int thread) { ++sum[thread]; });
    b.run([&](int thread) { ++sum[2 + thread]; });
  }
  for (const int count : sum) EXPECT_EQ(count, 100);
}

TEST(ShareOf, CoversEveryItemOnceInOrderAndEvenly) {
  for (const std::int64_t count : {0, 1, 5, 32, 33, 1000}) {
    for (const int threads : {1, 2, 3, 7}) {
      for (const std::int64_t unit : {1, 4, 32}) {
        std::int64_t next = 0, least = count, most = 0;
        for (int thread = 0; thread < threads; ++thread) {
          const Share share = share_of(count, thread, threads, unit);
          ASSERT_EQ(share.first, next);
          ASSERT_TRUE(share.first % unit == 0 || share.first == count);
          next = share.last;
          least = std::min(least, share.last - share.first);
          most = std::max(most, share.last - share.first);
        }
        EXPECT_EQ(next, count);
        EXPECT_LE(most - least, 2 * unit - 1);
      }
    }
  }
}

}  // namespace
}  // namespace outrider::kernels
