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
  const auto parsed =
      parse({"--prompt", "a", "--prompt=--b", "--max_tokens=7", "--temperature", "-1.5", "--no-chat"});
  EXPECT_EQ(parsed.problems, "");
  ASSERT_EQ(parsed.values.uses().size(), 5u);
  EXPECT_EQ(parsed.values.uses()[1].value, "--b");
  EXPECT_EQ(parsed.values.integer("--max-tokens"), 7);
  EXPECT_EQ(parsed.values.number("--temperature"), -1.5);
  EXPECT_EQ(parsed.values.boolean("--chat"), false);
}

TEST(Flags, MergesDottedJsonKeys) {
  const auto parsed =
      parse({"--speculative-config", R"({"method":"dspark"})", "--speculative-config.num_speculative_tokens",
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

TEST(Flags, TakesAValueThatIsAttachedToAShortName) {
  const std::vector<Flag> flags = {
      {.name = "--level", .kind = FlagKind::Text, .value_name = "N", .help = "", .short_names = {"-O"}},
      {.name = "--config", .kind = FlagKind::Json, .value_name = "JSON", .help = "", .short_names = {"-cc"}},
  };
  const std::vector<std::string> words = {"-O3", "-cc.mode", "2"};
  Inspector inspector;
  const FlagValues values = parse_flags(words, flags, inspector);
  EXPECT_TRUE(inspector.clean());
  EXPECT_EQ(*values.text("--level"), "3");
  EXPECT_EQ(values.json("--config")->excerpt(), R"({"mode":2})");
}

TEST(Flags, KeepsUnknownFlagsApartWithTheirValuesAndNearestNames) {
  const std::vector<Flag> flags = {
      {.name = "--tensor-parallel-size",
       .kind = FlagKind::Text,
       .value_name = "N",
       .help = "",
       .short_names = {"-tp"}},
      {.name = "--enable-x", .kind = FlagKind::Switch, .value_name = "", .help = "", .short_names = {"-x"}},
      {.name = "--config", .kind = FlagKind::Json, .value_name = "JSON", .help = ""},
  };
  const std::vector<std::string> words = {"-tp", "-1",    "--tensor-parallel", "8", "--enable-y",
                                          "-x",  "-tp=4", "--config.a.b",      "3", "--zzz=1"};
  Inspector inspector;
  const FlagValues values =
      parse_flags(words, flags, inspector, {.unknown_apart = true, .last_counts = true, .json_apart = true});
  EXPECT_TRUE(inspector.clean());
  EXPECT_EQ(*values.text("--tensor-parallel-size"), "4");
  EXPECT_EQ(values.boolean("--enable-x"), true);
  ASSERT_EQ(values.unknown().size(), 3u);
  EXPECT_EQ(values.unknown()[0].word, "--tensor-parallel");
  EXPECT_EQ(values.unknown()[0].value, "8");
  EXPECT_EQ(values.unknown()[0].nearest, "--tensor-parallel-size");
  EXPECT_EQ(values.unknown()[1].value, std::nullopt);
  EXPECT_EQ(values.unknown()[2].value, "1");
  EXPECT_EQ(values.uses().back().keys, (std::vector<std::string>{"a", "b"}));
}

TEST(Flags, AnotherProgramsSwitchesMayTakeNoValue) {
  const Flag flags[] = {
      {.name = "--on", .kind = FlagKind::Switch, .value_name = "", .help = "", .negatable = false},
      {.name = "--both", .kind = FlagKind::Switch, .value_name = "", .help = ""},
      {.name = "--maybe", .kind = FlagKind::Text, .value_name = "", .help = "", .bare_too = true}};
  const std::vector<std::string> words = {"--on=true", "--both=false", "--no-on", "--maybe", "--maybe",
                                          "x",         "--no-both"};
  Inspector inspector;
  const FlagValues values = parse_flags(words, flags, inspector,
                                        {.unknown_apart = true, .last_counts = true, .bare_switches = true});
  ASSERT_EQ(inspector.problems().size(), 2u);
  EXPECT_EQ(inspector.problems()[0].field, "--on");
  EXPECT_EQ(inspector.problems()[0].remedy, "write --on");
  EXPECT_EQ(inspector.problems()[1].remedy, "write --both or --no-both");
  ASSERT_EQ(values.unknown().size(), 1u);
  EXPECT_EQ(values.unknown()[0].word, "--no-on");
  EXPECT_EQ(*values.text("--maybe"), "x");
  EXPECT_EQ(values.boolean("--both"), false);
}

}  // namespace
}  // namespace outrider::base
