#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

// A paged cache for the tests: blocks handed out in a scattered order, unused places hold NaN.
struct Cache {
  Cache(KvDtype type, int tokens, int heads, int width, int count) : block_count(count) {
    elements = static_cast<std::size_t>(count) * static_cast<std::size_t>(tokens * heads * width);
    keys.assign(elements, std::numeric_limits<float>::quiet_NaN());
    values = keys;
    half_keys.assign(elements, tensor::to_bf16(keys[0]));
    half_values = half_keys;
    layer = {type == KvDtype::F32 ? static_cast<void*>(keys.data()) : half_keys.data(),
             type == KvDtype::F32 ? static_cast<void*>(values.data()) : half_values.data(),
             type,
             tokens,
             heads,
             width};
  }
  // A table of `blocks` blocks; `seed` scatters them.
  std::vector<base::BlockId> table(int first, int blocks) const {
    std::vector<base::BlockId> ids;
    for (int i = 0; i < blocks; ++i) ids.push_back(static_cast<base::BlockId>((first + i * 7) % block_count));
    return ids;
  }
  int block_count;
  std::size_t elements;
  std::vector<float> keys, values;
  std::vector<tensor::Bf16> half_keys, half_values;
  KvLayer layer{};
};

struct Sequence {
  std::vector<base::BlockId> blocks;
  std::vector<float> keys, values;  // [positions, kv width]
};

Sequence store_sequence(Executor& executor, Cache& cache, int first_block, std::int64_t positions,
                        std::uint64_t seed) {
  const std::int64_t width = cache.layer.kv_heads * cache.layer.head_width;
  Sequence sequence;
  sequence.blocks = cache.table(first_block, static_cast<int>(positions) / cache.layer.block_tokens + 1);
  Values values(seed);
  sequence.keys = values.many(positions * width);
  sequence.values = values.many(positions * width);
  std::vector<KvRow> rows;
  for (std::int64_t p = 0; p < positions; ++p) rows.push_back({sequence.blocks.data(), p});
  store_kv(executor, rows, view(std::as_const(sequence.keys), width),
           view(std::as_const(sequence.values), width), cache.layer);
  return sequence;
}

double held(float value, KvDtype dtype) {
  return static_cast<double>(dtype == KvDtype::F32 ? value : tensor::to_float(tensor::to_bf16(value)));
}

std::vector<double> exact_head(const Sequence& s, const KvLayer& layer, const AttentionRow& row, int kv_head,
                               const float* q, double scale) {
  const std::size_t stride = static_cast<std::size_t>(layer.kv_heads * layer.head_width);
  const std::size_t width = static_cast<std::size_t>(layer.head_width);
  std::vector<double> scores, out(width);
  for (std::int64_t p = row.first; p < row.last; ++p) {
    const std::size_t at = static_cast<std::size_t>(p) * stride + static_cast<std::size_t>(kv_head) * width;
    double dot = 0;
    for (std::size_t d = 0; d < width; ++d)
      dot += static_cast<double>(q[d]) * held(s.keys[at + d], layer.dtype);
    scores.push_back(scale * dot);
  }
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::size_t at =
        (static_cast<std::size_t>(row.first) + i) * stride + static_cast<std::size_t>(kv_head) * width;
    const double weight = std::exp(scores[i] - largest);
    sum += weight;
    for (std::size_t d = 0; d < width; ++d) out[d] += weight * held(s.values[at + d], layer.dtype);
  }
  for (double& value : out) value /= sum;
  return out;
}

struct Case {
  int heads, kv_heads, width, block_tokens;
  std::int64_t positions;
};
const Case kCases[] = {{1, 1, 1, 1, 3},    {2, 1, 8, 4, 33},     {6, 2, 20, 5, 70},   {4, 4, 16, 16, 40},
                       {8, 2, 64, 16, 97}, {16, 2, 128, 32, 65}, {3, 1, 200, 16, 50}, {5, 5, 6, 3, 31},
                       {3, 1, 19, 16, 70}, {14, 2, 33, 48, 100}};

void check_case(Target target, const Case& c, KvDtype dtype) {
  SCOPED_TRACE(std::string(name_of(target)) + " width " + std::to_string(c.width));
  Executor executor(target, 2, Arithmetic::Float32);
  Cache cache(dtype, c.block_tokens, c.kv_heads, c.width, 229);
  const Sequence sequence = store_sequence(executor, cache, 3, c.positions, 5);
  const std::int64_t n = c.positions;
  // Causal rows, a window, a block that sees ahead, a single position, the last one.
  std::vector<AttentionRow> rows = {
      {sequence.blocks.data(), 0, 1},     {sequence.blocks.data(), 0, n},
      {sequence.blocks.data(), n / 2, n}, {sequence.blocks.data(), 1, n / 2 + 1},
      {sequence.blocks.data(), n - 1, n}, {sequence.blocks.data(), 2, 3}};
  const std::int64_t q_width = c.heads * c.width;
  std::vector<float> q = Values(9).many(static_cast<std::int64_t>(rows.size()) * q_width), out(q.size());
  for (float& value : q) value *= 4;
  const float scale = 1.0F / std::sqrt(static_cast<float>(c.width));
  attend(executor, view(std::as_const(q), q_width), c.heads, rows, cache.layer, scale, view(out, q_width));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int h = 0; h < c.heads; ++h) {
      const std::size_t at = r * static_cast<std::size_t>(q_width) + static_cast<std::size_t>(h * c.width);
      const std::vector<double> want = exact_head(sequence, cache.layer, rows[r], h / (c.heads / c.kv_heads),
                                                  q.data() + at, static_cast<double>(scale));
      for (std::size_t d = 0; d < want.size(); ++d) {
        ASSERT_NEAR(static_cast<double>(out[at + d]), want[d], 4e-6) << "row " << r << " head " << h;
      }
    }
  }
}

TEST(Attend, EqualsADoublePrecisionSoftmax) {
  for (const Target target : available_targets()) {
    for (const Case& c : kCases) {
      for (const KvDtype dtype : {KvDtype::F32, KvDtype::Bf16}) check_case(target, c, dtype);
    }
  }
}

TEST(Attend, StaysFiniteForScoresFarApart) {
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    Cache cache(KvDtype::F32, 4, 1, 4, 229);
    Sequence sequence = store_sequence(executor, cache, 0, 40, 2);
    for (float& key : cache.keys) key *= 1000;
    const std::vector<float> q(4, 500.0F);
    std::vector<float> out(4);
    const AttentionRow row{sequence.blocks.data(), 0, 40};
    attend(executor, view(q, 4), 1, {&row, 1}, cache.layer, 1.0F, view(out, 4));
    for (const float value : out) {
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_LE(std::abs(value), 1.0F);
    }
  }
}

// The same rows alone; in any company of their own and other sequences; in other block sizes; by other thread
// counts.
TEST(Attend, ARowsBytesDoNotDependOnCompanyBlockSizeOrThreads) {
  const int heads = 6, kv_heads = 2, width = 24;
  const std::int64_t q_width = heads * width, positions = 90;
  for (const Target target : available_targets()) {
    for (const KvDtype dtype : {KvDtype::F32, KvDtype::Bf16}) {
      std::vector<float> alone;
      const std::vector<float> q = Values(4).many(64 * q_width);
      for (const int block_tokens : {1, 3, 16, 32, 64}) {
        Executor single(target, 1, Arithmetic::Float32);
        Cache cache(dtype, block_tokens, kv_heads, width, 229);
        const Sequence a = store_sequence(single, cache, 0, positions, 1);
        // Another sequence only where the two cannot share a block.
        const bool two = block_tokens == 16;
        const Sequence b = two ? store_sequence(single, cache, 110, positions, 2) : a;
        std::vector<AttentionRow> rows;
        for (std::int64_t r = 0; r < 64; ++r) {
          const Sequence& s = two && r % 24 > 18 ? b : a;
          rows.push_back({s.blocks.data(), r % 5 == 4 ? r / 2 : 0, r + 20});
        }
        for (const int threads : {1, 2, 3}) {
          Executor executor(target, threads, Arithmetic::Float32);
          std::vector<float> out(q.size());
          for (std::size_t count = 1; count <= 64; count += threads == 1 ? 1 : 9) {
            const std::size_t first = (64 - count) / 2;
            attend(executor,
                   view(q, q_width)
                       .row_range(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)),
                   heads, {rows.data() + first, count}, cache.layer, 0.3F,
                   view(out, q_width).row_range(0, static_cast<std::int64_t>(count)));
            for (std::size_t r = 0; r < count; ++r) {
              if (rows[first + r].blocks != a.blocks.data()) continue;
              std::vector<float> own(static_cast<std::size_t>(q_width));
              const std::int64_t at = static_cast<std::int64_t>(first + r) * q_width;
              if (alone.empty()) alone.assign(q.size(), std::numeric_limits<float>::quiet_NaN());
              if (std::isnan(alone[static_cast<std::size_t>(at)])) {
                attend(single, view(q, q_width).row_range(static_cast<std::int64_t>(first + r), 1), heads,
                       {rows.data() + first + r, 1}, cache.layer, 0.3F, view(own, q_width));
                std::copy(own.begin(), own.end(), alone.begin() + at);
              }
              ASSERT_TRUE(
                  same_bytes(out.data() + static_cast<std::int64_t>(r) * q_width, alone.data() + at, q_width))
                  << name_of(target) << " block " << block_tokens << " threads " << threads << " rows "
                  << count << " row " << first + r;
            }
          }
        }
      }
    }
  }
}

TEST(StoreKv, WritesItsPositionsOnlyAndRoundsToNearestEven) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32);
    Cache cache(KvDtype::Bf16, 4, 2, 19, 8);
    const std::vector<base::BlockId> blocks = cache.table(1, 3);
    const std::vector<float> keys = Values(1).many(38), values = Values(2).many(38);
    const KvRow row{blocks.data(), 6};
    store_kv(executor, {&row, 1}, view(keys, 38), view(values, 38), cache.layer);
    std::size_t written = 0;
    for (std::size_t i = 0; i < cache.elements; ++i)
      written += std::isnan(tensor::to_float(cache.half_keys[i])) ? 0 : 1;
    EXPECT_EQ(written, 38u);
    for (std::size_t head = 0; head < 2; ++head) {
      for (std::size_t d = 0; d < 19; ++d) {
        // Pairs of channels, [pair][slot][2], then the last channel of the odd width.
        const std::size_t first = (static_cast<std::size_t>(base::index_of(blocks[1])) * 2 + head) * 4 * 19;
        const std::size_t key = d == 18 ? 18 * 4 + 2 : (d / 2 * 4 + 2) * 2 + d % 2;
        EXPECT_EQ(cache.half_keys[first + key], tensor::to_bf16(keys[head * 19 + d]));
        EXPECT_EQ(cache.half_values[first + 2 * 19 + d], tensor::to_bf16(values[head * 19 + d]));
      }
    }
  }
}

}  // namespace
}  // namespace outrider::kernels::test
