// Time as a sum: how long the scopes of a Stopwatch took, added up.
#pragma once

#include <chrono>

namespace outrider::base {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds its lifetime to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(seconds_now()) {}
  ~Stopwatch() { seconds_ += seconds_now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  double start_;
};

}  // namespace outrider::base
