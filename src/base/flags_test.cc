#include "base/flags.h"

#include <gtest/gtest.h>

namespace outrider::base {
namespace {

const std::vector<Flag> kFlags = {
    {.name = "--prompt", .kind = FlagKind::Text, .value_name = "TEXT", .help = "", .repeatable = true},
    {.name = "--max-tokens", .kind = FlagKind::Integer, .value_name = "N", .help = ""},
    {.name = "--temperature", .kind = FlagKind::Number, .value_name = "T", .help = ""},
    {.name = "--chat", .kind = FlagKind::Switch, .value_name = "", .help = ""},
    {.name = "--speculative-config", .kind = FlagKind::Json, .value_name = "JSON", .help = ""},
};

struct Parsed {
  FlagValues values;
  std::string problems;
};

Parsed parse(const std::vector<std::string>& words) {
  Inspector inspector;
  Parsed parsed{parse_flags(words, kFlags, inspector), ""};
  if (!inspector.clean()) parsed.problems = to_string(std::move(inspector).refuse());
  return parsed;
}

TEST(Flags, ReadsTheFormsThatUsersType) {
  const auto parsed = parse({"--prompt", "a", "--prompt=--b", "--max_tokens=7", "--temperature", "-1.5", "--no-chat"});
  EXPECT_EQ(parsed.problems, "");
  ASSERT_EQ(parsed.values.uses().size(), 5u);
  EXPECT_EQ(parsed.values.uses()[1].value, "--b");
  EXPECT_EQ(parsed.values.integer("--max-tokens"), 7);
  EXPECT_EQ(parsed.values.number("--temperature"), -1.5);
  EXPECT_EQ(parsed.values.boolean("--chat"), false);
}

TEST(Flags, MergesDottedJsonKeys) {
  const auto parsed = parse({"--speculative-config", R"({"method":"dspark"})", "--speculative-config.num_speculative_tokens",
                             "7", "--speculative_config.a.b=text"});
  EXPECT_EQ(parsed.problems, "");
  const Json* json = parsed.values.json("--speculative-config");
  ASSERT_NE(json, nullptr);
  EXPECT_EQ(*json->find("num_speculative_tokens")->integer(), 7);
  EXPECT_EQ(*json->find("a")->find("b")->string(), "text");
}

TEST(Flags, ReportsEveryProblemWithTheNearestName) {
  const auto parsed = parse({"--max-token", "3", "--temperature", "hot", "--max-tokens"});
  EXPECT_NE(parsed.problems.find("did you mean --max-tokens?"), std::string::npos) << parsed.problems;
  EXPECT_NE(parsed.problems.find("--temperature = hot: must be a finite number"), std::string::npos);
  EXPECT_NE(parsed.problems.find("--max-tokens: needs a value"), std::string::npos);
}

}  // namespace
}  // namespace outrider::base
