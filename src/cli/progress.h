// A bar on a terminal while something long goes on; quiet in a pipe.
#pragma once

#include <cstdint>
#include <string>

namespace outrider::cli {

class ProgressBar {
 public:
  // `label` stands before the bar; `total` is what counts as done (0: not known, then nothing is shown).
  ProgressBar(std::string label, std::int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(std::int64_t done);

 private:
  std::string label_;
  std::int64_t total_;
  int shown_percent_ = -1;
};

}  // namespace outrider::cli
