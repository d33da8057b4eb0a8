#include "bench/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outrider::bench {
namespace {

// Of sorted values, linear between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  OUTRIDER_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return {.median = quantile(values, 0.5),
          .low = quantile(values, 0.25),
          .high = quantile(values, 0.75),
          .count = static_cast<int>(values.size())};
}

}  // namespace outrider::bench
