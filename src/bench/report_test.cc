#include "bench/report.h"

#include <gtest/gtest.h>

#include "bench/statistics.h"

namespace outrider::bench {
namespace {

Figure figure(const std::string& name, Better better, double low, double median, double high) {
  return {.name = name, .unit = "s", .better = better, .spread = {median, low, high, 5}};
}

Report report_of(std::vector<Figure> figures) {
  return {.facts = {{"threads", "2"}}, .parts = {{.part = "decode", .figures = std::move(figures)}}};
}

TEST(Spread, IsTheMedianAndTheQuartilesOfWhatWasMeasured) {
  EXPECT_EQ(spread_of({5, 1, 4, 2, 3}), (Spread{3, 2, 4, 5}));
  EXPECT_EQ(spread_of({1, 2}), (Spread{1.5, 1.25, 1.75, 2}));
  EXPECT_EQ(spread_of({7}), (Spread{7, 7, 7, 1}));
}

TEST(Report, ReadsBackFromItsOwnJson) {
  Report report =
      report_of({figure("token", Better::Less, 0.1, 0.2, 0.3), figure("rate", Better::More, 1, 2, 3)});
  report.parts[0].figures[0].target = 1.05;
  report.parts[0].before = {.bandwidth = 33e9, .fp32 = 1, .bf16 = 2, .int8 = 3};
  report.parts[0].after = {.bandwidth = 52e9};
  report.parts[0].foreign_cores = 0.25;
  report.parts[0].notes = {"a note"};
  const auto json = base::parse_json(to_json(report), "test");
  ASSERT_TRUE(json.ok());
  const auto read = parse_report(*json, "test");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, report);
}

TEST(Report, RefusesWhatIsNoReportAndNamesEveryFault) {
  const auto json = base::parse_json(
      R"({"facts": {}, "parts": [{"part": 3, "figures": [{"name": "a", "unit": "s", "better": "best"}]}]})",
      "old.json");
  ASSERT_TRUE(json.ok());
  const auto read = parse_report(*json, "old.json");
  ASSERT_FALSE(read.ok());
  const std::string text = base::to_string(read.error());
  EXPECT_NE(text.find("old.json: parts[0].part = 3: must be a string"), std::string::npos) << text;
  EXPECT_NE(text.find("parts[0].figures[0].better = best: must be less, more or neither"), std::string::npos)
      << text;
  EXPECT_NE(text.find("parts[0].figures[0].median: must be a number"), std::string::npos) << text;
}

TEST(Compare, MarksWhatGotSlowerBeyondTheSpreadWhicheverWayTheFigureImproves) {
  using enum Change::Verdict;
  const Report before =
      report_of({figure("time", Better::Less, 1.0, 1.1, 1.2), figure("same", Better::Less, 1, 2, 3),
                 figure("rate", Better::More, 10, 11, 12), figure("better", Better::Less, 4, 5, 6),
                 figure("bytes", Better::Neither, 1, 1, 1)});
  const Report after =
      report_of({figure("time", Better::Less, 1.3, 1.4, 1.5), figure("same", Better::Less, 2.9, 4, 5),
                 figure("rate", Better::More, 8, 9, 9.9), figure("better", Better::Less, 1, 2, 3),
                 figure("bytes", Better::Neither, 2, 2, 2), figure("new", Better::Less, 1, 1, 1)});
  const std::vector<Change> changes = compare(before, after);
  ASSERT_EQ(changes.size(), 4u);  // not the fact, nor what is new
  EXPECT_EQ(changes[0].verdict, Slower);
  EXPECT_EQ(changes[1].verdict, Same);  // the spreads overlap
  EXPECT_EQ(changes[2].verdict, Slower);
  EXPECT_EQ(changes[3].verdict, Faster);
  EXPECT_DOUBLE_EQ(changes[3].ratio, 0.4);
}

TEST(Compare, SaysWhereTheTwoRunsDiffer) {
  Report before = report_of({}), after = report_of({});
  after.facts[0].second = "4";
  EXPECT_EQ(to_table(compare(before, after), before, after), "differs: threads: 2 -> 4\n");
}

TEST(Table, SaysThatTheMachineWasBusyOnlyWhereItWas) {
  Report report = report_of({figure("token", Better::Less, 0.1, 0.2, 0.3)});
  EXPECT_EQ(to_table(report).find("busy"), std::string::npos);
  report.parts[0].foreign_cores = 0.5;
  EXPECT_NE(to_table(report).find("other processes took 0.50 cores"), std::string::npos);
}

}  // namespace
}  // namespace outrider::bench
