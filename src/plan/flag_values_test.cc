#include "plan/flag_values.h"

#include <gtest/gtest.h>

#include <set>

#include "plan/command_line.h"
#include "plan/judged_flags.h"

namespace outrider::plan {
namespace {

std::string told(const std::vector<std::string>& words, Engine engine = Engine::Vllm) {
  std::string text;
  for (const Problem& problem : parse_command_line(words, engine, {}).problems)
    text += problem.rule + " " + problem.field + "=" + problem.value + "\n";
  return text;
}

TEST(FlagValues, NumbersAreReadAsPythonReadsThem) {
  EXPECT_EQ(parse_python_integer(" +1_000 "), 1000);
  EXPECT_EQ(parse_python_integer("-3"), -3);
  for (const char* wrong : {"", "1__0", "_1", "1_", "1.0", "0x10", "8k", "1 2"})
    EXPECT_EQ(parse_python_integer(wrong), std::nullopt) << wrong;
}

// What argparse and pydantic of vLLM say to each value, by the flag's declared type.
TEST(FlagValues, ValuesOfFlagsWithoutAPartInThePlanAreJudgedAsVllmDoes) {
  struct Row {
    const char *flag, *value;
    bool taken;
  };
  constexpr Row kRows[] = {
      {"--gpu-memory-utilization", "0.9", true},
      {"--gpu-memory-utilization", "1", true},
      {"--gpu-memory-utilization", "0", false},
      {"--gpu-memory-utilization", "1.5", false},
      {"--gpu-memory-utilization", "abc", false},
      {"--gpu-memory-utilization", "90%", false},
      {"--port", "8000", true},
      {"--port", "abc", false},
      {"--port", "80.5", false},
      {"--kv-cache-memory-bytes", "40G", true},
      {"--kv-cache-memory-bytes", "40GB", false},
      {"--kv-cache-memory-bytes", "1.5G", false},
      {"--kv-cache-memory-bytes", "1.5g", true},
      {"--scheduling-policy", "priority", true},
      {"--scheduling-policy", "lifo", false},
      {"--runner", "pooling", true},
      {"--runner", "train", false},
      {"--max-lora-rank", "64", true},
      {"--max-lora-rank", "63", false},
      {"--cpu-offload-gb", "-1", false},
      {"--allowed-origins", "[\"*\"]", true},
      {"--allowed-origins", "*", false},
      {"--optimization-level", "2", true},
      {"--optimization-level", "fast", false},
      {"--cudagraph-capture-sizes", "8", true},
      {"--cudagraph-capture-sizes", "8,16", false},
      {"--tokenizer-mode", "my_mode", true},
      {"--stream-interval", "0", false},
      {"--mm-encoder-tp-mode", "data", true},
      {"--mm-encoder-tp-mode", "rows", false},
      {"--compilation-config", "{\"mode\":3}", true},
      {"--compilation-config", "3", false},
      {"--compilation-config", "{mode:3}", false},
      {"--prefix-caching-hash-algo", "md5", false},
  };
  for (const Row& row : kRows) {
    const std::string found = told({"m", std::string(row.flag) + "=" + row.value});
    EXPECT_EQ(found.empty(), row.taken) << row.flag << "=" << row.value << "\n" << found;
    if (row.taken) continue;
    EXPECT_NE(found.find(" " + setting_of_flag(row.flag) + "="), std::string::npos) << found;
  }
}

TEST(FlagValues, KernelsAreTakenInAnyCaseAndWithDashesAsVllmDoes) {
  const CommandLine line = parse_command_line(
      std::vector<std::string>{"m", "--moe-backend", "Deep-GEMM", "--attention-backend", "flashmla"},
      Engine::Vllm, {});
  EXPECT_TRUE(line.problems.empty());
  EXPECT_EQ(line.intent.target.moe_backend, "deep_gemm");
  EXPECT_EQ(line.intent.target.attention_backend, "FLASHMLA");
  EXPECT_EQ(told({"m", "--attention-backend", "XFORMERS"}), "CLI target.attention_backend=XFORMERS\n");
}

TEST(FlagValues, SwitchesTakeNoValueInVllm) {
  EXPECT_EQ(told({"m", "--enable-expert-parallel=false"}), "CLI target.enable_expert_parallel=false\n");
  EXPECT_EQ(told({"m", "--enable-expert-parallel=false"}, Engine::Outrider), "");
  EXPECT_EQ(told({"m", "--enable-lora=true"}), "CLI target.enable_lora=true\n");
  EXPECT_EQ(told({"m", "--enable-expert-parallel", "true"}), "CLI flag:true=true\n");
  EXPECT_EQ(told({"m", "--no-enable-chunked-prefill", "--no-async-scheduling"}), "");
  EXPECT_EQ(told({"m", "--no-headless"}), "CLI flag:--no-headless=\n");
  EXPECT_EQ(told({"m", "--hf-token", "--hf-token", "x"}), "");
}

TEST(FlagValues, WhatIsMissingOrTooMuchIsTold) {
  EXPECT_EQ(told({"m", "-tp"}), "CLI target.tensor_parallel_size=\n");
  EXPECT_EQ(told({"m", "--port", "-tp", "2"}), "CLI target.port=\n");
  EXPECT_EQ(told({"m", "m"}), "CLI flag:m=m\n");
  EXPECT_EQ(told({"m", "m"}, Engine::Outrider), "");
  EXPECT_EQ(told({"-tp", "2"}), "CLI target.model=\n");
  EXPECT_EQ(told({"m", "-O3"}), "");
  EXPECT_EQ(told({"m", "-O=2", "-cc.cudagraph_mode", "none"}), "");
  EXPECT_EQ(told({"m", "-O9"}), "CLI target.optimization_level=9\n");
}

TEST(FlagValues, FlagsOfOlderVersionsAreNamed) {
  for (const KnownFlag& gone : gone_flags()) {
    std::vector<std::string> words = {"m", std::string(gone.name)};
    if (gone.kind == KnownKind::Json) words.emplace_back("{}");
    if (gone.kind == KnownKind::Text || gone.kind == KnownKind::Many) words.emplace_back("4");
    const CommandLine line = parse_command_line(words, Engine::Vllm, {});
    ASSERT_EQ(line.problems.size(), 1u) << gone.name;
    EXPECT_EQ(line.problems[0].remedy, gone.gone);
  }
}

TEST(FlagValues, NoFlagIsListedTwice) {
  std::set<std::string> names;
  for (const base::Flag& flag : judged_flags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    for (const std::string& name : flag.short_names) EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_GT(names.size(), 300u);
}

TEST(FlagValues, SpecFlagsAreKeysOfTheSpeculativeConfig) {
  const CommandLine line = parse_command_line(
      std::vector<std::string>{"m", "--spec-method", "mtp", "--spec-tokens", "3"}, Engine::Vllm, {});
  EXPECT_TRUE(line.problems.empty());
  EXPECT_EQ(line.intent.draft->method, "mtp");
  EXPECT_EQ(line.intent.draft->num_speculative_tokens, 3);
  EXPECT_EQ(told({"m", "--spec-tokens", "3", "-sc", "{\"num_speculative_tokens\":3}"}),
            "CLI speculative_config.num_speculative_tokens=3\n");
  EXPECT_EQ(told({"m", "--spec-tokens", "many"}), "JSON draft.num_speculative_tokens=\"many\"\n");
}

TEST(FlagValues, NestedConfigsNameSettingsToo) {
  const CommandLine line =
      parse_command_line(std::vector<std::string>{"m", "--attention-config.backend", "flashmla",
                                                  "--kernel-config", "{\"moe_backend\":\"marlin\"}"},
                         Engine::Vllm, {});
  EXPECT_TRUE(line.problems.empty());
  EXPECT_EQ(line.intent.target.attention_backend, "FLASHMLA");
  EXPECT_EQ(line.intent.target.moe_backend, "marlin");
  EXPECT_EQ(told({"m", "--attention-backend", "FLASHMLA", "-ac.backend", "FLASHMLA"}),
            "CLI target.attention_backend=FLASHMLA\n");
}

}  // namespace
}  // namespace outrider::plan
