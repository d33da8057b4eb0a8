#include "schedule/cost_curve.h"

#include <gtest/gtest.h>

#include "base/json_write.h"

namespace outrider::schedule {
namespace {

TEST(CostCurve, IsStraightBetweenPointsAndKeepsTheLastSlope) {
  const CostCurve curve(CurveShape::Linear, {{2, 1.0}, {4, 2.0}, {8, 3.0}});
  EXPECT_EQ(curve.seconds_at(1), 1.0);
  EXPECT_EQ(curve.seconds_at(2), 1.0);
  EXPECT_EQ(curve.seconds_at(3), 1.5);
  EXPECT_EQ(curve.seconds_at(5), 2.25);
  EXPECT_EQ(curve.seconds_at(8), 3.0);
  EXPECT_EQ(curve.seconds_at(12), 4.0);
}

TEST(CostCurve, PadsUpToTheNextPointWhereItIsAStaircase) {
  const CostCurve curve(CurveShape::Staircase, {{2, 1.0}, {4, 2.0}, {8, 3.0}});
  EXPECT_EQ(curve.seconds_at(3), 2.0);
  EXPECT_EQ(curve.seconds_at(4), 2.0);
  EXPECT_EQ(curve.seconds_at(5), 3.0);
  EXPECT_EQ(curve.seconds_at(12), 4.0);
  EXPECT_EQ(CostCurve(CurveShape::Staircase, {{1, 0.5}}).seconds_at(70), 0.5);
}

TEST(CostCurve, NeverFallsThoughAMeasurementDid) {
  const CostCurve curve(CurveShape::Linear, {{1, 2.0}, {2, 1.5}, {4, 3.0}});
  EXPECT_EQ(curve.seconds_at(2), 2.0);
  EXPECT_EQ(curve.seconds_at(3), 2.5);
}

TEST(CostCurve, ReadsWhatItWrote) {
  const StepCosts costs{.verify = CostCurve(CurveShape::Linear, {{1, 0.0123}, {8, 0.0131}}),
                        .draft = CostCurve(CurveShape::Staircase, {{1, 0.004}})};
  base::JsonWriter writer;
  writer.value(to_json(costs));
  const auto json = base::parse_json(writer.text(), "costs.json");
  ASSERT_TRUE(json.ok());
  const auto read = parse_step_costs(*json, "costs.json");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, costs);
}

TEST(CostCurve, RefusesWhatIsNoCurveAndNamesEveryPart) {
  const auto fields_of = [](std::string_view text) {
    const auto read = parse_step_costs(*base::parse_json(text, "test"), "f.json");
    std::vector<std::string> fields;
    if (read.ok()) return fields;
    for (const base::Problem& problem : read.error().problems) fields.push_back(problem.field);
    return fields;
  };
  EXPECT_EQ(fields_of("[]"), (std::vector<std::string>{"f.json: verify", "f.json: draft"}));
  EXPECT_EQ(fields_of(R"({"verify": {"shape": "round"}, "draft": {"shape": "linear", "points": [[1, 1]]}})"),
            (std::vector<std::string>{"f.json: verify.shape", "f.json: verify.points"}));
  for (const char* points :
       {"[]", "[[0, 1]]", "[[1, 0]]", "[[1, -1]]", "[[2, 1], [2, 2]]", "[[2, 1], [1, 2]]", "[[1]]",
        "[[1.5, 1]]", "[[1, \"a\"]]", "[[1, 1], 7]", "3", "[[1, 1, 1]]"}) {
    const std::string curve = std::string(R"({"shape": "linear", "points": )") + points + "}";
    EXPECT_EQ(
        fields_of(R"({"verify": )" + curve + R"(, "draft": {"shape": "staircase", "points": [[1, 1]]}})"),
        std::vector<std::string>{"f.json: verify.points"})
        << points;
  }
}

}  // namespace
}  // namespace outrider::schedule
