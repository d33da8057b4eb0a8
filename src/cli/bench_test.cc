// outrider bench on small models with few repeats: what it reports and refuses, never how fast.
#include "bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/bench_flags.h"

namespace outrider::cli {
namespace {

const std::string kTarget = std::string(OUTRIDER_MODELS) + "/sprout";
const std::string kDrafter = std::string(OUTRIDER_MODELS) + "/sprout-dspark";
const std::string kConfigs = std::string(OUTRIDER_TEST_DATA) + "/plan/configs";
const std::string kSpeculative = R"({"method":"dspark","model":")" + kDrafter + R"("})";

std::vector<std::string> quick(std::vector<std::string> words) {
  for (const char* word : {"--repeats=2", "--probe-seconds=0", "--context=16", "--decode-tokens=2",
                           "--rows=1,3", "--prefill=8", "--max-tokens=12", "--num-threads=1"}) {
    words.emplace_back(word);
  }
  return words;
}

std::string refusal_of(const std::vector<std::string>& words) {
  base::Inspector inspector;
  parse_bench(words, inspector);
  return inspector.clean() ? "" : base::to_string(std::move(inspector).refuse());
}

bench::Report run(const std::vector<std::string>& words) {
  base::Inspector inspector;
  BenchOptions options = parse_bench(words, inspector);
  EXPECT_TRUE(inspector.clean()) << base::to_string(std::move(inspector).refuse());
  auto report = measure_bench(options, {});
  EXPECT_TRUE(report.ok()) << base::to_string(report.error());
  return std::move(*report);
}

std::vector<std::string> parts_of(const bench::Report& report) {
  std::vector<std::string> names;
  for (const bench::PartReport& part : report.parts) names.push_back(part.part);
  return names;
}

const bench::Figure* find(const bench::PartReport& part, const std::string& name) {
  const auto found = std::find_if(part.figures.begin(), part.figures.end(),
                                  [&](const bench::Figure& figure) { return figure.name == name; });
  return found == part.figures.end() ? nullptr : &*found;
}

TEST(Bench, MeasuresEveryPartThatWhatIsGivenAllows) {
  const bench::Report report = run(quick({"--model", kTarget, "--speculative-config", kSpeculative}));
  EXPECT_EQ(parts_of(report), (std::vector<std::string>{"machine", "decode", "verify", "prefill", "moe",
                                                        "draft", "speculate"}));
  for (const bench::PartReport& part : report.parts) {
    EXPECT_FALSE(part.figures.empty()) << part.part;
    EXPECT_TRUE(part.notes.empty()) << part.notes.front();  // above all: drafting changed no text
    for (const bench::Figure& figure : part.figures) {
      EXPECT_TRUE(figure.spread.low <= figure.spread.median && figure.spread.median <= figure.spread.high);
    }
    EXPECT_EQ(part.before.bandwidth > 0, part.part != "machine") << part.part;
  }
  const auto json = base::parse_json(bench::to_json(report), "test");
  ASSERT_TRUE(json.ok());
  const auto read = bench::parse_report(*json, "test");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, report);
}

TEST(Bench, CountsWhatIsReadNotWhatIsThere) {
  const bench::Report report = run(quick({"--model", kTarget, "--only", "decode,moe"}));
  ASSERT_EQ(parts_of(report), (std::vector<std::string>{"decode", "moe"}));
  // sprout's head and, in six layers, attention, router (its 16 outputs fill half a panel of 32) and four
  // experts of three matrices; bf16.
  const double layer = 256 * 32 * (8 + 4 + 4 + 8) + 32 * 256 + 4 * 3 * 256 * 128;
  EXPECT_EQ(find(report.parts[0], "weights read per token")->spread.median, 2 * (8192 * 256 + 6 * layer));
  const bench::Figure* experts = find(report.parts[1], "3 rows: experts of a layer");
  const bench::Figure* growth = find(report.parts[1], "3 rows: growth in bytes read");
  ASSERT_TRUE(experts != nullptr && growth != nullptr);
  EXPECT_GE(experts->spread.low, 4);
  EXPECT_LE(experts->spread.high, 12);
  const double expected =
      1 + 6 * (experts->spread.median - 4) * 3 * 256 * 128 / static_cast<double>(8192 * 256 + 6 * layer);
  EXPECT_NEAR(growth->spread.median, expected, 1e-9);
}

TEST(Bench, ForcesAcceptanceToAllAndToNoneWithoutTouchingTheText) {
  const bench::Report report =
      run(quick({"--model", kTarget, "--speculative-config", kSpeculative, "--only", "speculate"}));
  const bench::PartReport& part = report.parts.at(0);
  EXPECT_TRUE(part.notes.empty());
  const std::string tokens = ": tokens of a drafted round";
  // Eleven tokens behind the first one: seven drafts accepted, then three and maybe some beyond the end.
  EXPECT_GE(find(part, "all prompts, all accepted, fixed" + tokens)->spread.median, 6);
  EXPECT_EQ(find(part, "all prompts, none accepted, fixed" + tokens)->spread.median, 1);
  EXPECT_NE(find(part, "all prompts, none accepted, adaptive: over plain"), nullptr);
}

TEST(Bench, RunsShapesWithoutWeightsCutToFit) {
  const bench::Report report = run(quick(
      {"--model", kConfigs + "/qwen3-30b-a3b", "--load-format", "dummy", "--quantization", "int4",
       "--hf-overrides", R"({"num_hidden_layers":1,"num_experts":16,"vocab_size":512,"eos_token_id":1})",
       "--only", "decode,verify,prefill,moe"}));
  EXPECT_EQ(parts_of(report), (std::vector<std::string>{"decode", "verify", "prefill", "moe"}));
  EXPECT_NE(find(report.parts[1], "3 rows of as many sequences over 1"), nullptr);
}

TEST(Bench, StatesWhatQuantisingCostsInAccuracy) {
  base::Inspector inspector;
  const std::vector<std::string> words = {"--model", kTarget, "--only=accuracy", "--text=x",
                                          "--max-tokens=8"};
  BenchOptions options = parse_bench(words, inspector);
  ASSERT_TRUE(inspector.clean());
  options.settings.held_text = {1, 327, 202, 846, 455, 262, 651, 739, 262, 936, 287, 262, 1016, 17, 2};
  options.settings.prompts = {{.name = "story", .tokens = {1, 327, 202, 846, 455}}};
  const auto report = measure_bench(options, {});
  ASSERT_TRUE(report.ok());
  const bench::PartReport& part = report->parts.at(0);
  const bench::Figure *plain = find(part, "as stored: perplexity"), *int8 = find(part, "int8: perplexity");
  ASSERT_TRUE(plain != nullptr && int8 != nullptr);
  EXPECT_GT(plain->spread.median, 1);
  EXPECT_NEAR(int8->spread.median / plain->spread.median, 1, 0.1);
  EXPECT_GT(find(part, "int8: likeliest token is the same")->spread.median, 0.7);
  EXPECT_NE(find(part, "int4: greedy text before it differs"), nullptr);
}

TEST(Bench, RefusesWhatItCannotMeasureAllAtOnce) {
  const std::string text = refusal_of({"--only", "decode,dance,draft", "--rows", "0", "--repeats", "0"});
  for (const char* part : {"--only = dance: is no part", "--model: is needed",
                           "--speculative-config: with a model", "--rows = 0", "--repeats = 0"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(refusal_of({"--only", "machine"}), "");
  EXPECT_NE(refusal_of({"--model", kTarget, "--text", "file"}), "");
  EXPECT_EQ(
      refusal_of(
          {"--model", kTarget, "--speculative-config",
           R"({"method":"ngram","rejection_sample_method":"synthetic","synthetic_acceptance_length":2})"}),
      "");  // forced acceptance is for here alone
}

TEST(Bench, RefusesMorePositionsThanTheModelHas) {
  base::Inspector inspector;
  const std::vector<std::string> words = {"--model", kTarget, "--only", "decode", "--context", "4096"};
  BenchOptions options = parse_bench(words, inspector);
  const auto report = measure_bench(options, {});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(base::to_string(report.error()).find("the model has 4096"), std::string::npos);
}

TEST(Bench, TellsEveryIdThatTheVocabularyDoesNotHave) {
  base::Inspector inspector;
  const std::vector<std::string> words = {"--model",
                                          kTarget,
                                          "--only",
                                          "speculate",
                                          "--num-threads",
                                          "1",
                                          "--speculative-config",
                                          R"({"method":"ngram"})"};
  BenchOptions options = parse_bench(words, inspector);
  ASSERT_TRUE(inspector.clean());
  options.settings.prompts = {{.name = "a", .tokens = {1, 8192}}, {.name = "b", .tokens = {9000, 3}}};
  const auto report = measure_bench(options, {});
  ASSERT_FALSE(report.ok());
  const std::string text = base::to_string(report.error());
  EXPECT_NE(text.find("--prompts cases[0].prompt_token_ids = 8192"), std::string::npos) << text;
  EXPECT_NE(text.find("--prompts cases[1].prompt_token_ids = 9000"), std::string::npos) << text;
}

TEST(BenchPrompts, AreReadByKindAndRefusedWithTheirPlace) {
  const auto parse = [](const char* text) {
    const auto json = base::parse_json(text, "file");
    EXPECT_TRUE(json.ok());
    return parse_prompts(*json, "file");
  };
  const auto prompts =
      parse(R"({"cases":[{"kind":"story","prompt_token_ids":[1,2]},{"kind":"sum","prompt_token_ids":[3]}]})");
  ASSERT_TRUE(prompts.ok());
  ASSERT_EQ(prompts->size(), 2u);
  EXPECT_EQ((*prompts)[1].name, "sum");
  EXPECT_EQ((*prompts)[0].tokens, (std::vector<base::TokenId>{1, 2}));
  for (const char* text :
       {"{}", R"({"cases":[]})", R"({"cases":[{"kind":"x"}]})", R"({"cases":[{"prompt_token_ids":[1]}]})",
        R"({"cases":[{"kind":"x","prompt_token_ids":[-1]}]})"}) {
    EXPECT_FALSE(parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace outrider::cli
