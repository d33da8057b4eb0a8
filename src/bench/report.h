// What a benchmark found, as a value: the table, the JSON and the comparison with an older run are made of
// it. JSON (docs/performance.md): {"facts": {name: text}, "parts": [{"part", "before", "after",
// "foreign_cores", "figures": [{"name", "unit", "better", "median", "low", "high", "count", "target"}],
// "notes"}]}.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "bench/statistics.h"

namespace outrider::bench {

// Which way a figure improves; facts, such as bytes read, improve in neither.
enum class Better { Less, More, Neither };

struct Figure {
  std::string name;  // unique in its part
  std::string unit;  // "s", "B/s", "op/s", "tok/s", "x", "share", "B", "tok", ""
  Better better;
  Spread spread;
  std::optional<double> target = {};  // what docs/performance.md aims at
  friend bool operator==(const Figure&, const Figure&) = default;
};

// The machine's limits, all threads together. 0: not measured, or no such instruction.
struct Limits {
  double bandwidth = 0;                 // bytes per second, reading
  double fp32 = 0, bf16 = 0, int8 = 0;  // operations per second
  friend bool operator==(const Limits&, const Limits&) = default;
};

struct PartReport {
  std::string part;
  Limits before = {}, after = {};
  double foreign_cores = 0;  // cores' worth of time that other processes took meanwhile
  std::vector<Figure> figures = {};
  std::vector<std::string> notes = {};

  void add(std::string name, std::string unit, Better better, std::vector<double> values,
           std::optional<double> target = std::nullopt) {
    figures.push_back({std::move(name), std::move(unit), better, spread_of(std::move(values)), target});
  }
  friend bool operator==(const PartReport&, const PartReport&) = default;
};

struct Report {
  std::vector<std::pair<std::string, std::string>> facts = {};  // machine, threads, model, formats
  std::vector<PartReport> parts = {};
  friend bool operator==(const Report&, const Report&) = default;
};

// Above this many foreign cores a part says that the machine was busy.
inline constexpr double kBusyCores = 0.1;

std::string to_json(const Report& report);
base::Result<Report> parse_report(const base::Json& json, const std::string& source);
std::string to_table(const Report& report);

// One figure of both runs. `ratio` is new over old.
struct Change {
  enum class Verdict { Same, Slower, Faster };
  std::string part, name;
  double old_median, new_median, ratio;
  Verdict verdict;
};
// Slower or faster: the medians differ and the spreads do not overlap. Figures that improve in neither
// direction, or that one run lacks, are left out.
std::vector<Change> compare(const Report& old_report, const Report& new_report);
// With the facts that differ on top: a comparison of two machines is none.
std::string to_table(const std::vector<Change>& changes, const Report& old_report, const Report& new_report);

}  // namespace outrider::bench
