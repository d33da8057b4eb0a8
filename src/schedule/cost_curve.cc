#include "schedule/cost_curve.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/inspector.h"

namespace outrider::schedule {
namespace {

using base::Json;

bool is_sound(const std::vector<CostPoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].count <= (i == 0 ? 0 : points[i - 1].count)) return false;
    if (!(points[i].seconds > 0) || !std::isfinite(points[i].seconds)) return false;
  }
  return !points.empty();
}

std::optional<CostPoint> read_point(const Json& json) {
  const Json::Array* pair = json.array();
  if (pair == nullptr || pair->size() != 2) return {};
  const std::int64_t* count = (*pair)[0].integer();
  const std::optional<double> seconds = (*pair)[1].number();
  if (count == nullptr || !seconds) return {};
  return CostPoint{.count = *count, .seconds = *seconds};
}

base::Refusal wrong(const std::string& field, const Json* found, const std::string& rule) {
  return base::refuse(
      {.field = field, .found = found == nullptr ? "nothing" : found->excerpt(), .rule = rule, .remedy = {}});
}

}  // namespace

CostCurve::CostCurve(CurveShape shape, std::vector<CostPoint> points)
    : shape_(shape), points_(std::move(points)) {
  OUTRIDER_CHECK(is_sound(points_));
  for (std::size_t i = 1; i < points_.size(); ++i) {
    points_[i].seconds = std::max(points_[i].seconds, points_[i - 1].seconds);
  }
}

double CostCurve::seconds_at(std::int64_t count) const {
  const auto upper =
      std::lower_bound(points_.begin(), points_.end(), count,
                       [](const CostPoint& point, std::int64_t value) { return point.count < value; });
  if (upper == points_.begin()) return points_.front().seconds;
  if (upper != points_.end() && (shape_ == CurveShape::Staircase || upper->count == count))
    return upper->seconds;
  if (points_.size() == 1) return points_.front().seconds;
  const CostPoint& right = upper == points_.end() ? points_.back() : *upper;
  const CostPoint& left = upper == points_.end() ? points_[points_.size() - 2] : *(upper - 1);
  const double slope = (right.seconds - left.seconds) / static_cast<double>(right.count - left.count);
  return left.seconds + slope * static_cast<double>(count - left.count);
}

base::Result<CostCurve> parse_cost_curve(const Json& json, const std::string& field) {
  base::Inspector inspector;
  const Json* shape_json = json.find("shape");
  const std::string* name = shape_json == nullptr ? nullptr : shape_json->string();
  const bool is_staircase = name != nullptr && *name == "staircase";
  if (!is_staircase && (name == nullptr || *name != "linear")) {
    inspector.report_all(wrong(field + ".shape", shape_json, "must be \"linear\" or \"staircase\""));
  }
  const Json* points_json = json.find("points");
  std::vector<CostPoint> points;
  if (points_json != nullptr && points_json->array() != nullptr) {
    for (const Json& item : *points_json->array()) {
      if (const auto point = read_point(item)) points.push_back(*point);
    }
  }
  const bool is_complete = points_json != nullptr && points_json->array() != nullptr &&
                           points.size() == points_json->array()->size() && is_sound(points);
  if (!is_complete) {
    inspector.report_all(
        wrong(field + ".points", points_json,
              "must be a list of [count, seconds], counts rising from at least 1, seconds above 0"));
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return CostCurve(is_staircase ? CurveShape::Staircase : CurveShape::Linear, std::move(points));
}

Json to_json(const CostCurve& curve) {
  Json::Array points;
  for (const CostPoint& point : curve.points())
    points.push_back(Json(Json::Array{Json(point.count), Json(point.seconds)}));
  const std::string shape = curve.shape() == CurveShape::Linear ? "linear" : "staircase";
  return Json(Json::Object{{"shape", Json(shape)}, {"points", Json(std::move(points))}});
}

base::Result<StepCosts> parse_step_costs(const Json& json, const std::string& source) {
  base::Inspector inspector;
  const auto parse_part = [&](const char* key) -> std::optional<CostCurve> {
    const std::string field = source + ": " + key;
    const Json* part = json.find(key);
    if (part == nullptr) {
      inspector.report_all(wrong(field, part, "is missing"));
      return {};
    }
    auto curve = parse_cost_curve(*part, field);
    if (curve.ok()) return *std::move(curve);
    inspector.report_all(std::move(curve).error());
    return {};
  };
  std::optional<CostCurve> verify = parse_part("verify"), draft = parse_part("draft");
  if (!inspector.clean()) return std::move(inspector).refuse();
  return StepCosts{.verify = *std::move(verify), .draft = *std::move(draft)};
}

Json to_json(const StepCosts& costs) {
  return Json(Json::Object{{"verify", to_json(costs.verify)}, {"draft", to_json(costs.draft)}});
}

}  // namespace outrider::schedule
