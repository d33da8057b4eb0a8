// kernels_bench [threads] [part...]: rates of single kernels beside the machine's limits, in one run. Parts:
// machine, linear, prefill, moe, attend. Ratios count, absolute figures move with the machine's state; the
// probed bandwidth stands beside every line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/moe.h"
#include "kernels/probe.h"

namespace outrider::kernels {
namespace {

// One thread is timed by the processor time it got, which a busy machine disturbs less; several by the clock
// on the wall.
bool single_thread = false;

double now() {
  timespec time;
  clock_gettime(single_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(auto&& body) {
  const double start = now();
  body();
  return now() - start;
}

// The share of its processors that the process got since the last call: what is measured below 95 % is not
// worth noting.
double processor_share(int threads) {
  static double last_used = 0, last_wall = 0;
  timespec used, wall;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  clock_gettime(CLOCK_MONOTONIC, &wall);
  const double used_now = static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  const double wall_now = static_cast<double>(wall.tv_sec) + 1e-9 * static_cast<double>(wall.tv_nsec);
  const double share = (used_now - last_used) / (wall_now - last_wall) / threads;
  last_used = used_now;
  last_wall = wall_now;
  return share;
}

// The least of several runs is what the machine does when nobody else disturbs it; for ratios of equals.
double least(int repeats, auto&& body) {
  double best = seconds_of(body);
  for (int i = 1; i < repeats; ++i) best = std::min(best, seconds_of(body));
  return best;
}

const char* name_of_format(WeightFormat format) {
  static const char* const kNames[] = {"f32", "bf16", "int8", "int4"};
  return kNames[static_cast<int>(format)];
}

void fill(PackedMatrix& matrix) {
  std::uint32_t state = 1;
  std::byte* data = matrix.data();
  // Small finite values in every format: the exponent bits of bf16 and f32 stay in the middle.
  for (std::int64_t i = 0; i < matrix.byte_count(); ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = static_cast<std::byte>(i % 2 == 1 ? 0x3C : state >> 24);
  }
}

void bench_machine(Target target, int threads) {
  for (int t = 1; t <= threads; ++t) {
    Executor executor(target, t, Arithmetic::Bfloat16);
    const double small = BandwidthProbe(PageSize::Small, std::int64_t{512} << 20).read(executor, 0.3);
    const double huge = BandwidthProbe(PageSize::Huge, std::int64_t{512} << 20).read(executor, 0.3);
    std::printf(
        "%d threads: read %.1f GB/s (4 KiB), %.1f GB/s (2 MiB); fp32 %.0f, bf16 %.0f, int8 %.0f Gop/s\n", t,
        small * 1e-9, huge * 1e-9, probe_dot_peak(executor, DotKind::Fp32, 0.1) * 1e-9,
        probe_dot_peak(executor, DotKind::Bf16, 0.1) * 1e-9,
        probe_dot_peak(executor, DotKind::Int8, 0.1) * 1e-9);
  }
}

struct Bench {
  Executor& executor;
  const BandwidthProbe& probe;
  double peak_bf16, peak_int8, peak_fp32;
  double peak(WeightFormat format) const {
    if (format == WeightFormat::F32) return peak_fp32;
    return format == WeightFormat::Bf16 ? peak_bf16 : peak_int8;
  }
};

// Matrices that together lie far beyond the last cache, so that each call reads from memory.
void bench_linear(const Bench& bench, WeightFormat format, std::int64_t outputs, std::int64_t inputs) {
  std::vector<PackedMatrix> matrices;
  std::int64_t bytes = 0;
  while (bytes < (std::int64_t{256} << 20)) {
    fill(matrices.emplace_back(format, outputs, inputs));
    bytes += matrices.back().byte_count();
  }
  const std::vector<int> row_counts = {1, 2, 4, 6, 8, 9, 12, 16};
  std::vector<double> best(row_counts.size(), 1e9);
  std::vector<float> x(static_cast<std::size_t>(16 * inputs), 0.5F),
      y(static_cast<std::size_t>(16 * outputs));
  double bandwidth = 0;
  const int threads = bench.executor.pool().thread_count();
  processor_share(threads);
  for (int repeat = 0; repeat < 5; ++repeat) {
    bandwidth = std::max(bandwidth, bench.probe.read(bench.executor, 0.03));
    for (std::size_t i = 0; i < row_counts.size(); ++i) {
      const int rows = row_counts[i];
      best[i] = std::min(
          best[i], seconds_of([&] {
            for (const PackedMatrix& matrix : matrices) {
              linear(bench.executor, {x.data(), rows, inputs}, matrix, {}, {y.data(), rows, outputs});
            }
          }));
    }
  }
  std::printf("%s %ldx%ld: 1 row %.1f GB/s, %.0f %% of probed %.1f;", name_of_format(format), outputs, inputs,
              static_cast<double>(bytes) / best[0] * 1e-9,
              100 * static_cast<double>(bytes) / best[0] / bandwidth, bandwidth * 1e-9);
  for (std::size_t i = 1; i < best.size(); ++i) std::printf("  x%d %.2f", row_counts[i], best[i] / best[0]);
  const double operations =
      2.0 * static_cast<double>(outputs * inputs) * static_cast<double>(matrices.size());
  std::printf("; at 8 rows %.0f %% of peak; got %.0f %% of %d processors\n",
              100 * 8 * operations / best[4] / bench.peak(format), 100 * processor_share(threads), threads);
  std::fflush(stdout);
}

void bench_prefill(const Bench& bench, WeightFormat format, std::int64_t outputs, std::int64_t inputs) {
  PackedMatrix matrix(format, outputs, inputs);
  fill(matrix);
  for (const int rows : {8, 12, 64, 512}) {
    std::vector<float> x(static_cast<std::size_t>(rows * inputs), 0.5F),
        y(static_cast<std::size_t>(rows * outputs));
    const double time = least(rows > 100 ? 4 : 20, [&] {
      linear(bench.executor, {x.data(), rows, inputs}, matrix, {}, {y.data(), rows, outputs});
    });
    const double rate = 2.0 * static_cast<double>(outputs * inputs * rows) / time;
    std::printf("%s %ldx%ld, %d rows: %.0f Gop/s, %.0f %% of peak\n", name_of_format(format), outputs, inputs,
                rows, rate * 1e-9, 100 * rate / bench.peak(format));
  }
}

void bench_attend(const Bench& bench) {
  const int heads = 32, kv_heads = 8, width = 128, block_tokens = 16;
  const std::int64_t positions = 4096, layers = 16, elements = positions * kv_heads * width;
  tensor::Buffer keys(static_cast<std::size_t>(elements * layers) * 2), values(keys.size());
  std::vector<base::BlockId> blocks;
  for (int i = 0; i < positions / block_tokens; ++i) blocks.push_back(static_cast<base::BlockId>(i));
  const double bandwidth = bench.probe.read(bench.executor, 0.1);
  for (const int rows : {1, 8}) {
    std::vector<float> q(static_cast<std::size_t>(rows * heads * width), 0.1F), out(q.size());
    const std::vector<AttentionRow> ranges(static_cast<std::size_t>(rows), {blocks.data(), 0, positions});
    const double time = least(5, [&] {
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        attend(bench.executor, {q.data(), rows, heads * width}, heads, ranges,
               {keys.data() + layer * elements * 2, values.data() + layer * elements * 2, KvDtype::Bf16,
                block_tokens, kv_heads, width},
               0.1F, {out.data(), rows, heads * width});
      }
    });
    const double rate = static_cast<double>(elements * layers * 4) / time;
    std::printf(
        "attend %d rows, 4096 positions: %.0f us a layer, %.1f GB/s of cache, %.0f %% of probed %.1f\n", rows,
        time / static_cast<double>(layers) * 1e6, rate * 1e-9, 100 * rate / bandwidth, bandwidth * 1e-9);
  }
}

// A layer of 128 experts of 2048 x 768, 8 a row, rows routed independently: time beside the bytes of distinct
// experts.
void bench_moe(const Bench& bench, WeightFormat format) {
  const std::int64_t hidden = 2048, width = 768, k = 8, expert_count = 128;
  std::vector<ExpertWeights> experts;
  for (std::int64_t e = 0; e < expert_count; ++e) {
    Slabs& slabs = bench.executor.slabs();
    experts.push_back({PackedMatrix::in_slab(slabs, format, 2 * width, hidden),
                       PackedMatrix::in_slab(slabs, format, hidden, width)});
    fill(experts.back().gate_up);
    fill(experts.back().down);
  }
  const double expert_bytes =
      static_cast<double>(experts[0].gate_up.byte_count() + experts[0].down.byte_count());
  std::uint32_t state = 7;
  const std::vector<int> row_counts = {1, 2, 4, 8, 16};
  std::vector<double> best(row_counts.size(), 1e9), bytes(row_counts.size(), 0);
  const int threads = bench.executor.pool().thread_count();
  processor_share(threads);
  for (int repeat = 0; repeat < 12; ++repeat) {
    for (std::size_t i = 0; i < row_counts.size(); ++i) {
      const std::int64_t rows = row_counts[i];
      std::vector<std::int32_t> ids;
      std::vector<bool> chosen(static_cast<std::size_t>(expert_count), false);
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::size_t start = ids.size();
        while (ids.size() < start + static_cast<std::size_t>(k)) {
          state = state * 1664525u + 1013904223u;
          const std::int32_t id = static_cast<std::int32_t>(state >> 25);
          if (std::find(ids.begin() + static_cast<std::ptrdiff_t>(start), ids.end(), id) == ids.end())
            ids.push_back(id);
        }
        for (std::size_t at = start; at < ids.size(); ++at) chosen[static_cast<std::size_t>(ids[at])] = true;
      }
      std::vector<float> weights(ids.size(), 0.1F), x(static_cast<std::size_t>(rows * hidden), 0.5F),
          y(x.size());
      const double distinct = static_cast<double>(std::count(chosen.begin(), chosen.end(), true));
      const double time = seconds_of([&] {
        moe_mlp(bench.executor, {x.data(), rows, hidden}, experts, {ids.data(), rows, k},
                {weights.data(), rows, k}, {y.data(), rows, hidden});
      });
      // Time for each byte of distinct experts, so that draws with more of them compare with others.
      best[i] = std::min(best[i], time / (distinct * expert_bytes));
      bytes[i] += distinct / 12;
    }
  }
  std::printf("moe %s: 1 row %.1f GB/s;", name_of_format(format), 1e-9 / best[0]);
  for (std::size_t i = 1; i < best.size(); ++i) {
    std::printf("  x%d time/bytes %.2f (bytes x%.2f)", row_counts[i], best[i] / best[0], bytes[i] / bytes[0]);
  }
  std::printf("; got %.0f %% of %d processors\n", 100 * processor_share(threads), threads);
}

int run(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  single_thread = threads == 1;
  const Target target = best_target();
  if (wanted("machine")) bench_machine(target, threads);
  Executor executor(target, threads, Arithmetic::Bfloat16);
  const BandwidthProbe probe(PageSize::Huge, std::int64_t{256} << 20);
  const Bench bench{executor, probe, probe_dot_peak(executor, DotKind::Bf16, 0.1),
                    probe_dot_peak(executor, DotKind::Int8, 0.1),
                    probe_dot_peak(executor, DotKind::Fp32, 0.1)};
  for (const WeightFormat format : {WeightFormat::Bf16, WeightFormat::Int8, WeightFormat::Int4}) {
    if (wanted("linear")) bench_linear(bench, format, 9728, 2560);
    if (wanted("moe")) bench_moe(bench, format);
    if (wanted("prefill")) bench_prefill(bench, format, 3072, 1024);
    if (wanted("prefill")) bench_prefill(bench, format, 2560, 9728);
  }
  if (wanted("attend")) bench_attend(bench);
  return 0;
}

}  // namespace
}  // namespace outrider::kernels

int main(int argc, char** argv) { return outrider::kernels::run(argc, argv); }
