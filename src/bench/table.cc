// The report for eyes, and the comparison of two.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/report.h"

namespace outrider::bench {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char line[256];
  const int length = std::snprintf(line, sizeof line, pattern, values...);
  return std::string(line,
                     static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(sizeof line) - 1)));
}

struct Scale {
  double factor;
  const char* unit;
};

Scale scale_of(const std::string& unit, double value) {
  const double size = std::abs(value);
  if (unit == "s") return size < 1e-3 ? Scale{1e6, "us"} : size < 10 ? Scale{1e3, "ms"} : Scale{1, "s"};
  if (unit == "B/s") return {1e-9, "GB/s"};
  if (unit == "op/s") return {1e-9, "Gop/s"};
  if (unit == "B") return size < 1e9 ? Scale{1e-6, "MB"} : Scale{1e-9, "GB"};
  if (unit == "share") return {100, "%"};
  return {1, nullptr};
}

std::string line_of(const Figure& figure) {
  const Scale scale = scale_of(figure.unit, figure.spread.median);
  const char* unit = scale.unit != nullptr ? scale.unit : figure.unit.c_str();
  std::string line =
      format("  %-46s %10.4g %-6s", figure.name.c_str(), figure.spread.median * scale.factor, unit);
  if (figure.spread.count > 1) {
    line += format(" %9.4g - %-9.4g x%d", figure.spread.low * scale.factor, figure.spread.high * scale.factor,
                   figure.spread.count);
  }
  if (figure.target) {
    line += format("  target %s %.4g",
                   figure.better == Better::Less ? "<=" : ">=", *figure.target * scale.factor);
  }
  return line + "\n";
}

std::string limits_of(const PartReport& part) {
  return format("bandwidth %.1f GB/s before, %.1f after", part.before.bandwidth * 1e-9,
                part.after.bandwidth * 1e-9);
}

const Figure* find(const Report& report, const std::string& part, const std::string& name) {
  for (const PartReport& candidate : report.parts) {
    if (candidate.part != part) continue;
    for (const Figure& figure : candidate.figures) {
      if (figure.name == name) return &figure;
    }
  }
  return nullptr;
}

const std::string* find_fact(const Report& report, const std::string& name) {
  for (const auto& [known, text] : report.facts) {
    if (known == name) return &text;
  }
  return nullptr;
}

Change::Verdict judge(const Figure& before, const Figure& after) {
  const bool above = after.spread.low > before.spread.high, below = after.spread.high < before.spread.low;
  if (!above && !below) return Change::Verdict::Same;
  return above == (after.better == Better::Less) ? Change::Verdict::Slower : Change::Verdict::Faster;
}

}  // namespace

std::string to_table(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.facts) text += format("%-12s ", name.c_str()) + value + "\n";
  for (const PartReport& part : report.parts) {
    text += "\n" + part.part;
    if (part.before.bandwidth > 0) text += "  (" + limits_of(part) + ")";
    text += "\n";
    for (const Figure& figure : part.figures) text += line_of(figure);
    if (part.foreign_cores > kBusyCores) {
      text += format("  the machine was busy: other processes took %.2f cores; do not trust this part\n",
                     part.foreign_cores);
    }
    for (const std::string& note : part.notes) text += "  " + note + "\n";
  }
  return text;
}

std::vector<Change> compare(const Report& old_report, const Report& new_report) {
  std::vector<Change> changes;
  for (const PartReport& part : new_report.parts) {
    for (const Figure& figure : part.figures) {
      const Figure* before = find(old_report, part.part, figure.name);
      if (before == nullptr || figure.better == Better::Neither || before->unit != figure.unit) continue;
      const double ratio = before->spread.median == 0 ? 0 : figure.spread.median / before->spread.median;
      changes.push_back({.part = part.part,
                         .name = figure.name,
                         .old_median = before->spread.median,
                         .new_median = figure.spread.median,
                         .ratio = ratio,
                         .verdict = judge(*before, figure)});
    }
  }
  return changes;
}

std::string to_table(const std::vector<Change>& changes, const Report& old_report, const Report& new_report) {
  std::string text;
  for (const auto& [name, value] : new_report.facts) {
    const std::string* before = find_fact(old_report, name);
    if (before != nullptr && *before != value)
      text += "differs: " + name + ": " + *before + " -> " + value + "\n";
  }
  for (const Change& change : changes) {
    const char* mark = change.verdict == Change::Verdict::Slower   ? "  SLOWER"
                       : change.verdict == Change::Verdict::Faster ? "  faster"
                                                                   : "";
    text += format("%-10s %-46s %11.4g -> %-11.4g x%.3f%s\n", change.part.c_str(), change.name.c_str(),
                   change.old_median, change.new_median, change.ratio, mark);
  }
  return text;
}

}  // namespace outrider::bench
