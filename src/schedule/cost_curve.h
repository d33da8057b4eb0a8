// What a step costs: measured seconds by row count. Never falling, since more rows cannot take less time and
// a dip in a measurement would lure the scheduler; what lies between and beyond the measured points is stated
// by the shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace outrider::schedule {

struct CostPoint {
  std::int64_t count;  // rows, or sequences
  double seconds;

  friend bool operator==(const CostPoint&, const CostPoint&) = default;
};

// Linear: straight between points. Staircase: the seconds of the next point up, as where batches are padded
// to it. Both: the first point's seconds below it, the last slope beyond the last.
enum class CurveShape { Linear, Staircase };

class CostCurve {
 public:
  // Counts above 0 and rising, seconds finite and above 0, at least one point; parse_cost_curve checks what
  // comes from outside. Seconds that fall are raised to those before them.
  CostCurve(CurveShape shape, std::vector<CostPoint> points);

  double seconds_at(std::int64_t count) const;
  CurveShape shape() const { return shape_; }
  const std::vector<CostPoint>& points() const { return points_; }

  friend bool operator==(const CostCurve&, const CostCurve&) = default;

 private:
  CurveShape shape_;
  std::vector<CostPoint> points_;
};

// {"shape": "linear" | "staircase", "points": [[1, 0.0123], [8, 0.0131], ...]}
base::Result<CostCurve> parse_cost_curve(const base::Json& json, const std::string& field);
base::Json to_json(const CostCurve& curve);

// A step verifies rows, after drafting for some sequences.
struct StepCosts {
  CostCurve verify;  // by rows of the target's batch
  CostCurve draft;   // by sequences that draft

  double draft_seconds(std::int64_t sequences) const {
    return sequences == 0 ? 0 : draft.seconds_at(sequences);
  }
  friend bool operator==(const StepCosts&, const StepCosts&) = default;
};

// {"verify": CURVE, "draft": CURVE}; `source` names the file in problems.
base::Result<StepCosts> parse_step_costs(const base::Json& json, const std::string& source);
base::Json to_json(const StepCosts& costs);

}  // namespace outrider::schedule
