#include "kernels/biased_argmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/product.h"

namespace outrider::kernels {
namespace {

enum Slot { kBoundSlot = 6, kRowSlot = 7 };

// Of all panels, for all rows together: with more to read, the product is quicker.
constexpr double kWantedShare = 0.3;
constexpr int kLanes = 8;
constexpr float kLowest = std::numeric_limits<float>::lowest();

struct Best {
  float value = kLowest;
  std::int32_t index = -1;
};

// How much longer than x the row that a product works with can be, and a sum that was rounded at every step:
// bf16 moves an element by 2^-9 of itself; int8 codes by half a step, 1/254 of the largest of the row at
// most.
float slack_of(WeightFormat format, std::int64_t inputs) {
  const float n = static_cast<float>(inputs);
  const bool quantised = format == WeightFormat::Int8 || format == WeightFormat::Int4;
  return 1.01F + (quantised ? std::sqrt(n) / 254.0F : 0.0F) + n * 0x1p-22F;
}

float length_of(std::span<const float> x) {
  double squares = 0;
  for (const float element : x) squares += static_cast<double>(element) * static_cast<double>(element);
  return static_cast<float>(std::sqrt(squares));
}

// One call's operands; its steps are run by the threads.
struct Search {
  const ProductKernel* kernel;
  const PackedMatrix* weights;
  std::span<const float> lengths;
  tensor::MatrixView<const float> base;
  const std::byte* packed;  // every row as a tile of its own
  const float* bounds;      // [rows][panels]

  // The most that an output of the panel can reach; not finite where one of its numbers is not.
  float bound_of(std::int64_t row, std::int64_t panel, float length) const {
    const std::int64_t first = panel * kPanelOutputs;
    const int columns = columns_of(panel, weights->outputs());
    const float* logits = base.row(row) + first;
    const float* norms = lengths.data() + first;
    // Lanes of their own, so that neither the maximum nor the test is one long chain.
    float highest[kLanes], finite[kLanes] = {};
    std::fill_n(highest, kLanes, kLowest);
    int i = 0;
    for (; i + kLanes <= columns; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float bound = logits[i + lane] + norms[i + lane] * length;
        highest[lane] = bound > highest[lane] ? bound : highest[lane];
        finite[lane] += bound * 0.0F;  // stays 0 only while all are finite
      }
    }
    for (; i < columns; ++i) {
      const float bound = logits[i] + norms[i] * length;
      highest[0] = bound > highest[0] ? bound : highest[0];
      finite[0] += bound * 0.0F;
    }
    for (int lane = 1; lane < kLanes; ++lane) {
      highest[0] = std::max(highest[0], highest[lane]);
      finite[0] += finite[lane];
    }
    return finite[0] == 0 ? highest[0] : std::numeric_limits<float>::infinity();
  }

  void score(std::int64_t row, std::int64_t panel, Best& best) const {
    alignas(64) float sums[kPanelOutputs];
    const std::int64_t first = panel * kPanelOutputs;
    const int columns = columns_of(panel, weights->outputs());
    kernel->tile({.panel = weights->data() + panel * panel_bytes(weights->format(), weights->inputs()),
                  .rows = packed + row * kernel->row_bytes(weights->inputs()),
                  .inputs = weights->inputs(),
                  .row_count = 1,
                  .columns = columns,
                  .bias = nullptr,
                  .out = sums,
                  .out_stride = kPanelOutputs});
    for (int i = 0; i < columns; ++i) {
      const float value = base.row(row)[first + i] + sums[i];
      // What was seen of the first panel is reached again by itself.
      if (value > best.value || (best.index < 0 && value == best.value)) {
        best = {value, static_cast<std::int32_t>(first + i)};
      }
    }
  }
};

}  // namespace

std::vector<float> derive_output_lengths(Executor& executor, const PackedMatrix& weights) {
  std::vector<float> lengths(static_cast<std::size_t>(weights.outputs()));
  const auto inputs = static_cast<std::size_t>(weights.inputs());
  run_shares(executor.pool(), weights.outputs(), weights.outputs() * weights.inputs(), [&](Share share) {
    std::vector<float> held(inputs);
    for (std::int64_t v = share.first; v < share.last; ++v) {
      unpack_row(weights, v, held);
      double squares = 0;
      for (const float weight : held) squares += static_cast<double>(weight) * static_cast<double>(weight);
      lengths[static_cast<std::size_t>(v)] = static_cast<float>(std::sqrt(squares) * (1 + 0x1p-20));
    }
  });
  return lengths;
}

bool biased_argmax(Executor& executor, tensor::MatrixView<const float> x, const PackedMatrix& weights,
                   std::span<const float> lengths, tensor::MatrixView<const float> base,
                   std::span<std::int32_t> index, std::span<float> value) {
  OUTRIDER_CHECK(x.columns == weights.inputs() && base.columns == weights.outputs() && base.rows == x.rows);
  OUTRIDER_CHECK(static_cast<std::int64_t>(lengths.size()) == weights.outputs() && weights.outputs() > 0);
  OUTRIDER_CHECK(static_cast<std::int64_t>(index.size()) == x.rows && value.size() == index.size());
  const ProductKernel& kernel = product_of(executor.table(), weights.format(), executor.arithmetic());
  const std::int64_t panels = panel_count(weights.outputs());
  const int threads = executor.pool().thread_count();
  const auto rows = static_cast<std::size_t>(x.rows);
  std::byte* packed =
      executor.scratch(kRowSlot, rows * static_cast<std::size_t>(kernel.row_bytes(x.columns)));
  float* bounds = reinterpret_cast<float*>(
      executor.scratch(kBoundSlot, rows * (static_cast<std::size_t>(panels) * sizeof(float) +
                                           static_cast<std::size_t>(threads) * sizeof(Best))));
  Best* best = reinterpret_cast<Best*>(bounds + x.rows * panels);
  const Search search{&kernel, &weights, lengths, base, packed, bounds};

  std::int64_t wanted = 0;  // (row, panel) pairs whose product is needed
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const float* from = x.row(row);
    kernel.pack(&from, 1, x.columns, packed + row * kernel.row_bytes(x.columns));
    const float length = length_of(x.row_span(row)) * slack_of(weights.format(), x.columns);
    float* mine = bounds + row * panels;
    run_shares(executor.pool(), panels, weights.outputs() / kLanes, [&](Share share) {
      for (std::int64_t panel = share.first; panel < share.last; ++panel) {
        mine[panel] = search.bound_of(row, panel, length);
      }
    });
    // The panel that promises most sets the value to reach.
    const std::int64_t likeliest = std::max_element(mine, mine + panels) - mine;
    Best first;
    search.score(row, likeliest, first);
    if (!std::isfinite(mine[likeliest]) || !std::isfinite(first.value)) return false;
    for (int thread = 0; thread < threads; ++thread) best[thread * x.rows + row] = {first.value, -1};
    wanted += std::count_if(mine, mine + panels, [&](float bound) { return bound >= first.value; });
  }
  // One product of all rows reads each panel once, and is better at it.
  if (static_cast<double>(wanted) > kWantedShare * static_cast<double>(panels)) return false;
  const auto search_panels = [&](Share share, Best* found) {
    for (std::int64_t panel = share.first; panel < share.last; ++panel) {
      for (std::int64_t row = 0; row < x.rows; ++row) {
        if (bounds[row * panels + panel] >= found[row].value) search.score(row, panel, found[row]);
      }
    }
  };
  if (wanted * kPanelOutputs * x.columns <= 16 * kForkElements) {
    search_panels({0, panels}, best);
  } else {
    executor.pool().run(
        [&](int thread) { search_panels(share_of(panels, thread, threads), best + thread * x.rows); });
  }
  // Threads hold rising panels, so that the first of equals is the lowest index.
  for (std::int64_t row = 0; row < x.rows; ++row) {
    Best winner{kLowest, -1};
    for (int thread = 0; thread < threads; ++thread) {
      const Best& other = best[thread * x.rows + row];
      if (other.index >= 0 && (winner.index < 0 || other.value > winner.value)) winner = other;
    }
    if (winner.index < 0) return false;  // a product that is no number
    index[static_cast<std::size_t>(row)] = winner.index;
    value[static_cast<std::size_t>(row)] = winner.value;
  }
  return true;
}

}  // namespace outrider::kernels
