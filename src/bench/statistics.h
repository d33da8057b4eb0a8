// What repeats of a measurement say together: the median, and the quartiles as its spread. Quartiles, since a
// shared machine now and then takes a slice of time, which makes the extremes a measure of the neighbours.
#pragma once

#include <vector>

namespace outrider::bench {

struct Spread {
  double median;
  double low, high;  // quartiles; equal to the median where there is one value
  int count;         // repeats
  friend bool operator==(const Spread&, const Spread&) = default;
};

// At least one value.
Spread spread_of(std::vector<double> values);

}  // namespace outrider::bench
