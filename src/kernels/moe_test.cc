#include "kernels/moe.h"

#include <gtest/gtest.h>

#include "kernels/elementwise.h"
#include "kernels/test_support.h"

namespace outrider::kernels::test {
namespace {

std::vector<ExpertWeights> make_experts(Executor& executor, int count, std::int64_t hidden,
                                        std::int64_t width, WeightFormat format) {
  Values values(31);
  std::vector<ExpertWeights> experts;
  for (int e = 0; e < count; ++e) {
    experts.push_back({packed(executor, values.many(2 * width * hidden), hidden, format),
                       packed(executor, values.many(hidden * width), width, format)});
  }
  return experts;
}

struct Routing {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

// Distinct experts per row, in no order.
Routing make_routing(std::int64_t rows, int k, int experts, std::uint64_t seed) {
  Values values(seed);
  Routing routing;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<std::int32_t> left;
    for (int e = 0; e < experts; ++e) left.push_back(e);
    for (int i = 0; i < k; ++i) {
      const std::size_t at = values.bits() % left.size();
      routing.ids.push_back(left[at]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      routing.weights.push_back(values.next());
    }
  }
  return routing;
}

tensor::MatrixView<const std::int32_t> ids_view(const Routing& routing, int k) {
  return {routing.ids.data(), static_cast<std::int64_t>(routing.ids.size()) / k, k};
}

// Expert by expert with the plain operations, each row alone.
std::vector<float> one_by_one(Executor& executor, const std::vector<float>& x, std::int64_t hidden,
                              std::int64_t width, const std::vector<ExpertWeights>& experts,
                              const Routing& routing, int k) {
  std::vector<float> y(x.size(), 0.0F), gate_up(static_cast<std::size_t>(2 * width)),
      middle(static_cast<std::size_t>(width)), down(static_cast<std::size_t>(hidden));
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / hidden;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t e = 0; e < experts.size(); ++e) {
      for (int i = 0; i < k; ++i) {
        const std::size_t at = static_cast<std::size_t>(r * k + i);
        if (routing.ids[at] != static_cast<std::int32_t>(e)) continue;
        linear(executor, view(x, hidden).row_range(r, 1), experts[e].gate_up, {}, view(gate_up, 2 * width));
        silu_multiply(executor, view(gate_up, 2 * width), view(middle, width));
        linear(executor, view(middle, width), experts[e].down, {}, view(down, hidden));
        for (std::int64_t c = 0; c < hidden; ++c) {
          y[static_cast<std::size_t>(r * hidden + c)] +=
              routing.weights[at] * down[static_cast<std::size_t>(c)];
        }
      }
    }
  }
  return y;
}

TEST(MoeMlp, EqualsItsExpertsRunOneByOne) {
  const std::int64_t hidden = 50, width = 37;
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      for (const Arithmetic arithmetic : all_arithmetics()) {
        SCOPED_TRACE(describe(target, format, arithmetic));
        Executor executor(target, 2, arithmetic);
        const std::vector<ExpertWeights> experts = make_experts(executor, 6, hidden, width, format);
        const std::int64_t rows = 9;
        const Routing routing = make_routing(rows, 3, 6, 4);
        const std::vector<float> x = Values(8).many(rows * hidden);
        const std::vector<float> want = one_by_one(executor, x, hidden, width, experts, routing, 3);
        std::vector<float> y(x.size(), -5.0F);
        moe_mlp(executor, view(x, hidden), experts, ids_view(routing, 3), view(routing.weights, 3),
                view(y, hidden));
        for (std::size_t i = 0; i < y.size(); ++i)
          ASSERT_NEAR(y[i], want[i], 1e-5F * (1 + std::abs(want[i]))) << i;
      }
    }
  }
}

TEST(MoeMlp, ARowsBytesDoNotDependOnOtherRowsTheirExpertsOrThreads) {
  const std::int64_t hidden = 40, width = 33;
  const int k = 2, expert_count = 5;
  for (const Target target : available_targets()) {
    for (const WeightFormat format : all_formats()) {
      SCOPED_TRACE(describe(target, format, Arithmetic::Bfloat16));
      Executor single(target, 1, Arithmetic::Bfloat16);
      const std::vector<ExpertWeights> experts = make_experts(single, expert_count, hidden, width, format);
      const std::vector<float> row = Values(9).many(hidden);
      const Routing own = make_routing(1, k, expert_count, 77);
      std::vector<float> alone(static_cast<std::size_t>(hidden));
      moe_mlp(single, view(row, hidden), experts, ids_view(own, k), view(own.weights, k),
              view(alone, hidden));
      for (const int threads : {1, 2, 3}) {
        Executor executor(target, threads, Arithmetic::Bfloat16);
        for (std::int64_t rows = 1; rows <= 64; ++rows) {
          const std::int64_t place = (rows * 7) % rows == 0 ? rows / 2 : 0;
          Routing routing = make_routing(rows, k, expert_count, static_cast<std::uint64_t>(rows));
          std::vector<float> x = Values(static_cast<std::uint64_t>(rows)).many(rows * hidden), y(x.size());
          std::copy(row.begin(), row.end(), x.begin() + place * hidden);
          for (int i = 0; i < k; ++i) {
            routing.ids[static_cast<std::size_t>(place * k + i)] = own.ids[static_cast<std::size_t>(i)];
            routing.weights[static_cast<std::size_t>(place * k + i)] =
                own.weights[static_cast<std::size_t>(i)];
          }
          moe_mlp(executor, view(x, hidden), experts, ids_view(routing, k), view(routing.weights, k),
                  view(y, hidden));
          ASSERT_TRUE(same_bytes(y.data() + place * hidden, alone.data(), hidden)) << rows << " rows";
        }
      }
    }
  }
}

TEST(RouteSoftmaxTopk, TakesTheLargestInOrderTiesToTheLowestId) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32);
    std::vector<float> logits = {1, 3, 2, 3, -1, 0, /**/ 5, 5, 5, 5, 5, 5};
    std::vector<float> weights(6);
    std::vector<std::int32_t> ids(6);
    route_softmax_topk(executor, view(logits, 6), 3, true, {ids.data(), 2, 3}, view(weights, 3));
    EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 3, 2, 0, 1, 2}));
    const double e = std::exp(-1.0), sum = 2 + e;
    EXPECT_NEAR(weights[0], 1 / sum, 1e-6);
    EXPECT_NEAR(weights[2], e / sum, 1e-6);
    EXPECT_NEAR(weights[4], 1.0 / 3, 1e-6);
    route_softmax_topk(executor, view(logits, 6), 3, false, {ids.data(), 2, 3}, view(weights, 3));
    EXPECT_NEAR(weights[3], 1.0 / 6, 1e-6);
  }
}

TEST(RouteSoftmaxTopk, GivesDistinctExpertsEvenForNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    std::vector<float> logits = {nan, nan, nan, nan}, weights(3);
    std::vector<std::int32_t> ids(3);
    route_softmax_topk(executor, view(logits, 4), 3, true, {ids.data(), 1, 3}, view(weights, 3));
    EXPECT_EQ(ids, (std::vector<std::int32_t>{0, 1, 2}));
  }
}

TEST(RouteSoftmaxTopk, ARowsBytesDoNotDependOnItsPlace) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32), single(target, 1, Arithmetic::Float32);
    const std::vector<float> logits = Values(3).many(64 * 37);
    std::vector<float> weights(64 * 4), alone(4);
    std::vector<std::int32_t> ids(64 * 4), own(4);
    route_softmax_topk(executor, view(logits, 37), 4, true, {ids.data(), 64, 4}, view(weights, 4));
    for (int r = 0; r < 64; ++r) {
      route_softmax_topk(single, view(logits, 37).row_range(r, 1), 4, true, {own.data(), 1, 4},
                         view(alone, 4));
      EXPECT_TRUE(same_bytes(alone.data(), weights.data() + r * 4, 4));
      EXPECT_TRUE(std::equal(own.begin(), own.end(), ids.begin() + r * 4));
    }
  }
}

}  // namespace
}  // namespace outrider::kernels::test
