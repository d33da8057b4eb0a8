#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace outrider::cli {

ProgressBar::ProgressBar(std::string label, std::int64_t total) : label_(std::move(label)), total_(total) {
  if (::isatty(STDERR_FILENO) == 0) total_ = 0;
}

void ProgressBar::show(std::int64_t done) {
  if (total_ <= 0) return;
  const int percent = static_cast<int>(std::min<std::int64_t>(100, done * 100 / total_));
  if (percent == shown_percent_) return;
  shown_percent_ = percent;
  constexpr int kWidth = 40;
  std::string bar(static_cast<std::size_t>(percent * kWidth / 100), '#');
  bar.resize(kWidth, '.');
  std::fprintf(stderr, "\r%s [%s] %3d %%", label_.c_str(), bar.c_str(), percent);
  std::fflush(stderr);
}

ProgressBar::~ProgressBar() {
  if (shown_percent_ >= 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(label_.size()) + 60, "");
}

}  // namespace outrider::cli
