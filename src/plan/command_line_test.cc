#include "plan/command_line.h"

#include <gtest/gtest.h>

#include "plan/eplb_yaml.h"
#include "plan/flag_values.h"
#include "plan/serve_yaml.h"

namespace outrider::plan {
namespace {

CommandLine parse(const std::vector<std::string>& words, Engine engine = Engine::Vllm) {
  return parse_command_line(words, engine, {});
}
std::string told(const CommandLine& line) {
  std::string text;
  for (const Problem& problem : line.problems)
    text += problem.rule + " " + problem.field + "=" + problem.value + "\n";
  return text;
}

TEST(CommandLine, ReadsEveryFormThatPeopleType) {
  const CommandLine line = parse({"m",
                                  "-tp",
                                  "8",
                                  "-pp=2",
                                  "--data_parallel_size=4",
                                  "--no-enable-expert-parallel",
                                  "-ep",
                                  "-O3",
                                  "-cc.level",
                                  "3",
                                  "--max-model-len",
                                  "32k",
                                  "--served-model-name",
                                  "a",
                                  "b",
                                  "--speculative-config",
                                  R"({"method":"mtp"})",
                                  "--speculative-config.num_speculative_tokens",
                                  "3",
                                  "--eplb-config.use_async",
                                  "False"});
  EXPECT_EQ(told(line), "");
  EXPECT_EQ(line.intent.model, "m");
  EXPECT_EQ(line.intent.target.tensor_parallel_size, 8);
  EXPECT_EQ(line.intent.target.pipeline_parallel_size, 2);
  EXPECT_EQ(line.intent.target.data_parallel_size, 4);
  EXPECT_EQ(line.intent.target.enable_expert_parallel, true);
  EXPECT_EQ(line.intent.target.max_model_len, 32000);
  EXPECT_EQ(line.intent.draft->method, "mtp");
  EXPECT_EQ(line.intent.draft->num_speculative_tokens, 3);
  EXPECT_EQ(line.intent.eplb.use_async, false);
}

TEST(CommandLine, TellsEveryFaultAndReadsTheRest) {
  const CommandLine line =
      parse({"m", "--tensor-paralel-size", "8", "--pipeline-parallel-size", "two", "--speculative-config",
             "{", "--eplb-config", R"({"window_size":"x","nothing":1})", "-dcp", "2", "stray"});
  EXPECT_EQ(told(line),
            "CLI flag:--tensor-paralel-size=8\nCLI flag:stray=stray\nCLI target.pipeline_parallel_size=two\n"
            "JSON speculative_config={\nJSON target.eplb_config.window_size=\"x\"\nJSON "
            "target.eplb_config.nothing=1\n");
  EXPECT_EQ(line.intent.target.decode_context_parallel_size, 2);
  EXPECT_FALSE(line.intent.draft.has_value());
}

TEST(CommandLine, DraftKeyOfTheBalancingConfigIsOurs) {
  const std::vector<std::string> words = {
      "m", "--eplb-config", R"({"num_redundant_experts":8,"draft":{"num_redundant_experts":4}})"};
  const CommandLine ours = parse(words, Engine::Outrider), theirs = parse(words, Engine::Vllm);
  EXPECT_EQ(told(ours), "");
  EXPECT_EQ(ours.intent.eplb_draft->num_redundant_experts, 4);
  EXPECT_EQ(told(theirs), "JSON target.eplb_config.draft={\"num_redundant_experts\":4}\n");
}

TEST(CommandLine, CountsOfTokensMayHaveAUnit) {
  EXPECT_EQ(parse_token_count("4096"), 4096);
  EXPECT_EQ(parse_token_count("32k"), 32000);
  EXPECT_EQ(parse_token_count("32K"), 32768);
  EXPECT_EQ(parse_token_count("1.5m"), 1500000);
  EXPECT_EQ(parse_token_count("25.6k"), 25600);
  EXPECT_EQ(parse_token_count("1.5K"), std::nullopt);  // fractions of 1024 are not taken
  EXPECT_EQ(parse_token_count("k"), std::nullopt);
  EXPECT_EQ(parse_token_count("9e300G"), std::nullopt);
}

TEST(CommandLine, PastedCommandsKeepTheirVariables) {
  const std::vector<std::string> words = {
      "env", "VLLM_PP_LAYER_PARTITION=20,20,21", "HF_TOKEN=x", "vllm", "serve", "m"};
  const PastedCommand pasted = parse_pasted(words);
  EXPECT_TRUE(pasted.problems.empty());
  EXPECT_EQ(pasted.engine, Engine::Vllm);
  EXPECT_EQ(pasted.rest, std::vector<std::string>{"m"});
  EXPECT_EQ(parse_command_line(pasted.rest, pasted.engine, pasted.environment).intent.pp_layer_partition,
            "20,20,21");
}

TEST(CommandLine, AWholeLineInOneWordIsPartedAsAShellDoes) {
  const std::vector<std::string> line = {"A=1 vllm serve m \\\n  -sc '{\"method\": \"mtp\"}' --x=\"a b\""};
  const PastedCommand pasted = parse_pasted(line);
  EXPECT_EQ(pasted.rest, (std::vector<std::string>{"m", "-sc", "{\"method\": \"mtp\"}", "--x=a b"}));
}

TEST(CommandLine, AnotherProgramIsNotJudged) {
  const std::vector<std::string> words = {"sglang", "serve", "m"};
  EXPECT_EQ(parse_pasted(words).problems.size(), 1u);
}

std::string yaml_faults(const std::string& text) {
  std::vector<Problem> problems;
  parse_eplb_yaml(text, problems);
  std::string all;
  for (const Problem& problem : problems) all += problem.field + "=" + problem.value + "\n";
  return all;
}

TEST(EplbYaml, ReadsAnchorsAndTellsAbsentFromEmpty) {
  std::vector<Problem> problems;
  const EplbFile file = parse_eplb_yaml(
      "num_slots: 4\nlayer_updates_per_iter: 0\ninitial_global_assignments:\n  3: &row [0, 1, 2, 3]\n  4: "
      "*row\n",
      problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(file.num_slots, 4);
  ASSERT_EQ(file.assignments->size(), 2u);
  EXPECT_EQ((*file.assignments)[1], (std::pair<std::int64_t, std::vector<std::int64_t>>{4, {0, 1, 2, 3}}));
  EXPECT_FALSE(file.is_faulty);
  std::vector<Problem> told;
  EXPECT_TRUE(parse_eplb_yaml("num_slots: x\n", told).is_faulty);
  EXPECT_TRUE(parse_eplb_yaml("[1, 2", told).is_faulty);
  EXPECT_FALSE(parse_eplb_yaml("initial_global_assignments: null\n", problems).assignments.has_value());
  EXPECT_TRUE(parse_eplb_yaml("initial_global_assignments: {}\n", problems).assignments->empty());
}

TEST(EplbYaml, TellsEveryFaultOfAFile) {
  EXPECT_EQ(yaml_faults("num_slots: 4\nnum_slots: 5\nslots: 3\nlayer_updates_per_iter: x\n"),
            "eplb.num_slots=5\neplb.slots=3\neplb.layer_updates_per_iter=x\n");
  EXPECT_EQ(yaml_faults("initial_global_assignments:\n  a: [0]\n  1: [0, b]\n  1: [0]\n  2: 7\n"),
            "eplb.initial_global_assignments.a=a\neplb.initial_global_assignments.1=b\neplb.initial_global_"
            "assignments.1=\n"
            "eplb.initial_global_assignments.2=7\n");
  EXPECT_EQ(yaml_faults("[1, 2"), "eplb=\n");
  EXPECT_EQ(yaml_faults("just text"), "eplb=\n");
  EXPECT_EQ(yaml_faults(std::string(100000, '[')), "eplb=\n");
  EXPECT_EQ(yaml_faults(""), "eplb=\n");
}

}  // namespace
}  // namespace outrider::plan
