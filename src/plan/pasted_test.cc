// What people paste: one text or words, with everything that a terminal, a script or a chat puts around it.
#include <gtest/gtest.h>

#include <iterator>
#include <random>

#include "plan/command_line.h"
#include "plan/serve_yaml.h"
#include "plan/shell_words.h"

namespace outrider::plan {
namespace {

using Words = std::vector<std::string>;

Words rest_of(const std::string& text) {
  const Words typed = {text};
  const PastedCommand pasted = parse_pasted(typed);
  return pasted.problems.empty() ? pasted.rest : Words{"?"};
}

TEST(Pasted, EveryWayToStartTheServerIsKnown) {
  const Words expected = {"m", "-tp", "8"};
  for (const char* text :
       {"vllm serve m -tp 8", "$ vllm serve m -tp 8", "sudo vllm serve m -tp 8",
        "/opt/venv/bin/vllm serve m -tp 8", "nohup vllm serve m -tp 8 > log.txt 2>&1 &",
        "vllm serve m -tp 8 | tee serve.log", "vllm serve m -tp 8; echo done", "uv run vllm serve m -tp 8",
        "python3.12 -m vllm.entrypoints.cli.main serve m -tp 8", "vllm serve m \\\n  -tp 8",
        "vllm serve m \\\r\n -tp 8", "# start it\nexport A=1\nvllm serve m -tp 8\ncurl localhost:8000",
        "cd /data && vllm serve m -tp 8"}) {
    EXPECT_EQ(rest_of(text), expected) << text;
  }
  EXPECT_EQ(rest_of("python -m vllm.entrypoints.openai.api_server --model m -tp 8"),
            (Words{"--model", "m", "-tp", "8"}));
  EXPECT_EQ(
      rest_of(
          "docker run --gpus all -e VLLM_PP_LAYER_PARTITION=1,2 vllm/vllm-openai:v0.29.0 --model m -tp 8"),
      (Words{"--model", "m", "-tp", "8"}));
  EXPECT_EQ(rest_of("sglang serve m"), Words{"?"});
  EXPECT_EQ(rest_of("trtllm-serve m --tp_size 8"), Words{"?"});
}

TEST(Pasted, VariablesAreKeptFromWhereverTheyStand) {
  for (const char* text :
       {"VLLM_PP_LAYER_PARTITION=1,2 vllm serve m", "env VLLM_PP_LAYER_PARTITION=1,2 vllm serve m",
        "export VLLM_PP_LAYER_PARTITION=1,2\nvllm serve m",
        "docker run -e VLLM_PP_LAYER_PARTITION=1,2 vllm/vllm-openai m"}) {
    const Words typed = {text};
    EXPECT_EQ(parse_pasted(typed).environment.at("VLLM_PP_LAYER_PARTITION"), "1,2") << text;
  }
}

TEST(Pasted, ContinuationsWithinWordsAreNoWords) {
  const Words typed = {"vllm", "serve", "m", "\\\n", "-tp", "8", "\\", "--port\\\n", "1"};
  EXPECT_EQ(parse_pasted(typed).rest, (Words{"m", "-tp", "8", "--port", "1"}));
  const Words joined = {"vllm", "serve", "m", "-tp \\\n 8"};
  EXPECT_EQ(parse_pasted(joined).rest, (Words{"m", "-tp", "8"}));
}

TEST(Pasted, TypographicQuotesAreToldOnceAndReadAsMeant) {
  const Words expected = {"m", "-sc", "{\"method\": \"mtp\"}"};
  const Words text = {"vllm serve m -sc \u2018{\u201cmethod\u201d: \u201cmtp\u201d}\u2019"};
  // The shell parted at the blank, since these quotes are none to it.
  const Words parted = {"vllm", "serve", "m", "-sc", "\u2018{\u201cmethod\u201d:", "\u201cmtp\u201d}\u2019"};
  const Words inner = {"vllm", "serve", "m", "-sc", "{\u201cmethod\u201d: \u201cmtp\u201d}"};
  for (const Words& typed : {text, parted, inner}) {
    const PastedCommand pasted = parse_pasted(typed);
    EXPECT_EQ(pasted.rest, expected);
    ASSERT_EQ(pasted.faults.size(), 1u);
    EXPECT_EQ(pasted.faults[0].rule, "JSON");
    EXPECT_EQ(pasted.faults[0].field, "speculative_config");
  }
}

TEST(Pasted, QuotesThatReachedTheProgramAreNamedInTheRemedy) {
  const CommandLine line = parse_command_line(Words{"m", "-sc", "'{\"method\":\"mtp\"}'"}, Engine::Vllm, {});
  ASSERT_EQ(line.problems.size(), 1u);
  EXPECT_EQ(line.problems[0].field, "speculative_config");
  EXPECT_NE(line.problems[0].remedy.find("quotes around it"), std::string::npos);
}

TEST(ServeYaml, FlagsOfAConfigFileAreWords) {
  std::vector<Problem> problems;
  const Words words = parse_serve_yaml(
      "model: m\ntensor-parallel-size: 8\nenable-expert-parallel: true\nenable_prefix_caching: false\n"
      "served-model-name: [a, b]\nspeculative-config:\n  method: mtp\n  num_speculative_tokens: 3\n  model: "
      "'4'\n"
      "api-key: \"true\"\n",
      problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(
      words,
      (Words{"--model", "m", "--tensor-parallel-size", "8", "--enable-expert-parallel",
             "--no-enable_prefix_caching", "--served-model-name", "a", "b", "--speculative-config",
             "{\"method\":\"mtp\",\"num_speculative_tokens\":3,\"model\":\"4\"}", "--api-key", "true"}));
}

TEST(ServeYaml, FaultsOfAFileAreTold) {
  for (const char* text : {"", "[1]", "a: 1\na: 2\n", "{", "a b: 1\n", ": 1\n"}) {
    std::vector<Problem> problems;
    parse_serve_yaml(text, problems);
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_EQ(problems[0].rule, "YAML");
    EXPECT_FALSE(problems[0].remedy.empty());
  }
  // A tree that names itself over and over is cut, not followed.
  std::vector<Problem> problems;
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'j'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " {k: [*" + before;
    for (int i = 0; i < 9; ++i) bomb += ", *" + before;
    bomb += "]}\n";
  }
  EXPECT_LT(parse_serve_yaml(bomb, problems).size(), 100u);
}

// What random text is made of.
const char* const kPieces[] = {"vllm",
                               "serve",
                               " ",
                               "\n",
                               "\\\n",
                               "\\",
                               "'",
                               "\"",
                               "{",
                               "}",
                               ":",
                               ",",
                               "=",
                               "-",
                               "--",
                               "-sc",
                               "-tp",
                               "-O",
                               "-cc.a+",
                               "--no-",
                               "--speculative-config",
                               "--eplb-config",
                               "--eplb-config.",
                               "--speculative-config..x",
                               "--spec-tokens",
                               "method",
                               "8",
                               "-1",
                               "8k",
                               "1e999",
                               "nan",
                               "\u201c",
                               "\u2019",
                               "\xe2\x80",
                               "\xff",
                               "#",
                               ";",
                               "|",
                               "&",
                               "2>&1",
                               "> f",
                               "A=",
                               "=",
                               "docker",
                               "run",
                               "vllm/vllm-openai",
                               "-e",
                               "python3",
                               "-m",
                               "--model",
                               "--api-key",
                               "--hf-token",
                               "--enable-eplb",
                               "m",
                               "[",
                               "]",
                               "null",
                               "--attention-config",
                               "{\"backend\":1}",
                               "--model-loader-extra-config",
                               "--load-format",
                               "runai_streamer"};

// Any text gives words or problems, twice the same, and never ends the program.
TEST(Pasted, AnyTextIsReadWithoutHarm) {
  std::mt19937_64 random(20260817);
  for (int round = 0; round < 1200; ++round) {
    Words typed(1 + random() % 3);
    for (std::string& word : typed) {
      const std::uint64_t count = random() % 14;
      for (std::uint64_t i = 0; i < count; ++i) word += kPieces[random() % std::size(kPieces)];
    }
    if (round % 2 == 0) typed.insert(typed.begin(), {"vllm", "serve", "m"});
    const PastedCommand pasted = parse_pasted(typed);
    for (const Engine engine : {Engine::Outrider, Engine::Vllm, Engine::Trtllm}) {
      const CommandLine first = parse_command_line(pasted.rest, engine, pasted.environment);
      const CommandLine again = parse_command_line(pasted.rest, engine, pasted.environment);
      EXPECT_EQ(first.problems, again.problems);
      for (const Problem& problem : first.problems) EXPECT_FALSE(problem.remedy.empty()) << problem.message;
    }
    std::vector<Problem> problems;
    parse_serve_yaml(typed.back(), problems);
  }
}

}  // namespace
}  // namespace outrider::plan
