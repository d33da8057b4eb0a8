// The contract of `outrider generate`: what scripts rely on, and what is refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "cli/commands.h"

namespace outrider::cli {
namespace {

const std::string kTarget = std::string(OUTRIDER_MODELS) + "/sprout";
const std::string kDrafter = std::string(OUTRIDER_MODELS) + "/sprout-dspark";

struct Ran {
  int exit_code;
  std::string out, err;
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), {"--model", kTarget, "--num-threads", "1"});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = run_generate(words);
  return {exit_code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::vector<std::string> with_drafter(std::vector<std::string> words) {
  words.insert(words.end(),
               {"--speculative-config.method", "dspark", "--speculative-config.model", kDrafter});
  return words;
}

base::Json json_of(const Ran& ran) {
  auto json = base::parse_json(ran.out, "stdout");
  EXPECT_TRUE(json.ok()) << ran.out << ran.err;
  return json.ok() ? std::move(json).value() : base::Json();
}

const base::Json& sequence(const base::Json& json, std::size_t index) {
  return (*json.find("sequences")->array())[index];
}
std::string text_of(const base::Json& json, std::size_t index) {
  return *sequence(json, index).find("text")->string();
}
std::string finish_of(const base::Json& json, std::size_t index) {
  return *sequence(json, index).find("finish_reason")->string();
}

TEST(Generate, PrintsTheTextAndOneLineOfFigures) {
  const Ran ran =
      run(with_drafter({"--chat", "--prompt", "Name three colours.", "--max-tokens", "20", "--no-adaptive"}));
  EXPECT_EQ(ran.exit_code, kDone);
  EXPECT_FALSE(ran.out.empty());
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_NE(ran.err.find("mean acceptance length"), std::string::npos) << ran.err;
}

TEST(Generate, JsonHoldsTheContract) {
  const Ran ran = run(with_drafter({"--prompt-ids", "1,327,202", "--max-tokens", "12", "--json",
                                    "--trace-rounds", "--logprobs", "2", "--ignore-eos"}));
  const base::Json json = json_of(ran);
  const base::Json& first = sequence(json, 0);
  EXPECT_EQ(first.find("prompt_token_ids")->array()->size(), 3u);
  ASSERT_EQ(first.find("token_ids")->array()->size(), 12u);
  EXPECT_EQ(finish_of(json, 0), "length");
  const base::Json::Array& logprobs = *first.find("logprobs")->array();
  ASSERT_EQ(logprobs.size(), 12u);
  EXPECT_EQ(*logprobs[0].find("token_id")->integer(), *(*first.find("token_ids")->array())[0].integer());
  EXPECT_EQ(logprobs[0].find("top")->array()->size(), 2u);
  const base::Json::Array& rounds = *first.find("rounds")->array();
  ASSERT_FALSE(rounds.empty());
  EXPECT_EQ(*rounds[0].find("position")->integer(), 3);
  EXPECT_EQ(*rounds[0].find("anchor")->integer(), *(*first.find("token_ids")->array())[0].integer());
  EXPECT_EQ(rounds[0].find("drafted")->array()->size(), 7u);
  EXPECT_EQ(rounds[0].find("confidence")->array()->size(), 7u);
  EXPECT_NE(json.find("figures")->find("mean_acceptance_length"), nullptr);
}

TEST(Generate, PromptsRunAsOneBatchAndComeOutInOrder) {
  const std::vector<std::string> prompts = {"Tell me a story about a fox.", "What is 2 + 3?",
                                            "Name three colours."};
  std::vector<std::string> together = {"--json", "--chat", "--max-tokens", "40"};
  for (const std::string& prompt : prompts) together.insert(together.end(), {"--prompt", prompt});
  const base::Json all = json_of(run(with_drafter(together)));
  std::string printed;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const base::Json alone = json_of(run({"--json", "--chat", "--max-tokens", "40", "--prompt", prompts[i]}));
    EXPECT_EQ(text_of(all, i), text_of(alone, 0));
    printed += text_of(alone, 0) + "\n";
  }
  together.erase(together.begin());
  EXPECT_EQ(run(with_drafter(together)).out, printed);
}

TEST(Generate, AStopStringCutsTheTextBeforeItAndTheTokensBehindIt) {
  const std::vector<std::string> words = {
      "--json", "--chat", "--prompt", "Tell me a story about a fox.", "--max-tokens", "100"};
  const base::Json whole = json_of(run(words));
  const std::string text = text_of(whole, 0);
  const std::string stop = text.substr(text.size() / 2, 9);
  auto stopping = words;
  stopping.insert(stopping.end(), {"--stop", stop});
  for (const bool drafts : {false, true}) {
    const base::Json cut = json_of(run(drafts ? with_drafter(stopping) : stopping));
    EXPECT_EQ(text_of(cut, 0), text.substr(0, text.find(stop)));
    EXPECT_EQ(finish_of(cut, 0), "stop");
    EXPECT_LT(sequence(cut, 0).find("token_ids")->array()->size(),
              sequence(whole, 0).find("token_ids")->array()->size());
  }
}

TEST(Generate, EndOfTextEndsARunAndIsKeptAmongTheIds) {
  const std::vector<std::string> words = {"--json",         "--chat",       "--prompt",
                                          "What is 2 + 3?", "--max-tokens", "120"};
  const base::Json json = json_of(run(with_drafter(words)));
  EXPECT_EQ(finish_of(json, 0), "stop");
  EXPECT_EQ(*sequence(json, 0).find("token_ids")->array()->back().integer(), 2);  // <|im_end|>
  EXPECT_EQ(text_of(json, 0).find("<|im_end|>"), std::string::npos);
  auto ignoring = words;
  ignoring.push_back("--ignore-eos");
  EXPECT_EQ(sequence(json_of(run(with_drafter(ignoring))), 0).find("token_ids")->array()->size(), 120u);
}

TEST(Generate, ASeedGivesTheSameBytesWithAnyDrafterWhenVerificationIsDrafterInvariant) {
  const std::vector<std::string> words = {
      "--json", "--chat", "--prompt", "Tell me a story.",          "--max-tokens",     "60", "--temperature",
      "1",      "--seed", "5",        "--rejection-sample-method", "drafter_invariant"};
  const std::string plain = text_of(json_of(run(words)), 0);
  const std::vector<std::string> invariant = {"--speculative-config.rejection_sample_method",
                                              "drafter_invariant"};
  auto drafting = std::vector<std::string>(words.begin(), words.end() - 2);
  drafting.insert(drafting.end(), invariant.begin(), invariant.end());
  EXPECT_EQ(text_of(json_of(run(with_drafter(drafting))), 0), plain);
  drafting.insert(drafting.end(), {"--speculative-config.method", "ngram",
                                   "--speculative-config.num_speculative_tokens", "4"});
  EXPECT_EQ(text_of(json_of(run(drafting)), 0), plain);
}

TEST(Generate, ListsEveryProblemAndNamesTheFlag) {
  const Ran ran = run({"--prompt", "x", "--max-tokens", "0", "--temperature", "-1", "--dtype", "half",
                       "--top-p", "2", "--tempreature", "1"});
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_EQ(ran.out, "");
  for (const char* part : {"--max-tokens = 0", "--temperature = -1", "--dtype = half", "--top-p = 2",
                           "did you mean --temperature?"}) {
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
  }
}

TEST(Generate, RefusesIdsBeyondTheVocabularyAndPromptsWithoutRoom) {
  EXPECT_NE(run({"--prompt-ids", "1,9000"}).err.find("9000"), std::string::npos);
  EXPECT_EQ(run({"--prompt-ids", "1,-2"}).exit_code, kRefused);
  EXPECT_EQ(run({"--prompt-ids", ""}).exit_code, kRefused);
  const Ran ran = run({"--prompt-ids", "1,2,3,4,5,6,7,8", "--max-model-len", "8"});
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_NE(ran.err.find("8 tokens"), std::string::npos) << ran.err;
  EXPECT_EQ(run({"--prompt-ids", "1,2", "--max-model-len", "8", "--max-tokens", "9"}).exit_code, kRefused);
}

const std::string kConfigs = std::string(OUTRIDER_TEST_DATA) + "/plan/configs";

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Generate, TellsEveryBadIdWithItsPrompt) {
  const Ran ran = run({"--prompt", "x", "--prompt-ids", "1,9000,x", "--prompt-ids", "-3"});
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_EQ(lines_of(ran.err), 3u) << ran.err;
  for (const char* part :
       {"--prompt-ids (prompt 2) = 9000", "--prompt-ids (prompt 2) = x", "--prompt-ids (prompt 3) = -3"}) {
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
  }
}

TEST(Generate, RefusesWhatTheMemoryDoesNotHoldBeforeItReadsWeights) {
  const Ran cache = run({"--prompt-ids", "1", "--num-kv-blocks", "2000000000"});
  EXPECT_EQ(cache.exit_code, kRefused);
  EXPECT_NE(cache.err.find("(rule MEM)"), std::string::npos) << cache.err;
  testing::internal::CaptureStderr();
  const std::vector<std::string> words = {
      "--model",        kConfigs + "/qwen3-32b",
      "--load-format",  "dummy",
      "--hf-overrides", R"({"num_hidden_layers":1000,"intermediate_size":200000})",
      "--prompt-ids",   "1"};
  EXPECT_EQ(run_generate(words), kRefused);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_of(err), 1u) << err;
  for (const char* part : {"(rule MEM)", "TiB", "weights", "quantization int8 or int4", "hf_overrides"})
    EXPECT_NE(err.find(part), std::string::npos) << part << "\n" << err;
}

TEST(Generate, RefusesACacheThatDoesNotHoldOneRequest) {
  const std::vector<std::string> small = {"--prompt-ids",    "1,2", "--max-tokens", "20",
                                          "--num-kv-blocks", "1",   "--block-size", "16"};
  const Ran ran = run(with_drafter(small));
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_NE(ran.err.find("--num-kv-blocks = 1"), std::string::npos) << ran.err;
  auto enough = small;
  enough[5] = "2";
  EXPECT_EQ(run(with_drafter(enough)).exit_code, kDone);
}

TEST(Generate, RefusesADrafterOfTheOtherKindAndNamesBoth) {
  const auto refusal = [](const std::string& target, const std::string& drafter, const char* method) {
    testing::internal::CaptureStderr();
    const std::vector<std::string> words = {"--model",
                                            target,
                                            "--prompt-ids",
                                            "1",
                                            "--speculative-config.method",
                                            method,
                                            "--speculative-config.model",
                                            drafter};
    EXPECT_EQ(run_generate(words), kRefused);
    return testing::internal::GetCapturedStderr();
  };
  const std::string pair = std::string(OUTRIDER_TEST_DATA) + "/dflash/zlab_b4_default_taps";
  for (const std::string& err :
       {refusal(kTarget, kDrafter, "dflash"), refusal(pair + "/target", pair + "/drafter", "dspark")}) {
    EXPECT_NE(err.find("--speculative-config method"), std::string::npos) << err;
    EXPECT_NE(err.find("dflash"), std::string::npos) << err;
    EXPECT_NE(err.find("dspark"), std::string::npos) << err;
  }
}

TEST(Generate, NamesFlagsAndKeysAsTheyWereTyped) {
  const Ran ran = run(with_drafter({"--prompt", "x", "--speculative-config.block_size", "3",
                                    "--speculative-config.num_speculative_tokens", "7", "--kernel-target",
                                    "sse", "--max-model-len", "9999999"}));
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_EQ(lines_of(ran.err), 3u) << ran.err;
  for (const char* part :
       {"--speculative-config block_size = 3", "--kernel-target = sse", "--max-model-len = 9999999"}) {
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
  }
}

TEST(Generate, AFolderThatIsNotThereIsToldOfTheKeyThatNamedIt) {
  const Ran ran = run({"--prompt", "x", "--speculative-config.method", "dspark", "--speculative-config.model",
                       "/no/such/folder"});
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_NE(ran.err.find("--speculative-config model = /no/such/folder"), std::string::npos) << ran.err;
}

TEST(Generate, OneFaultIsOneProblem) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--speculative-config", R"({"method":"telepathy"})"},
           {"--speculative-config", R"({"method":"mtp"})"},
           {"--speculative-config", R"({"method":"dspark"})"},
           {"--speculative-config", R"({"method":"ngram","model":"x"})"},
           {"--speculative-config", R"({"method":"ngram","rejection_sample_method":"synthetic"})"},
           {"--hf-overrides", R"({"num_experts":null})"},
           {"--hf-overrides", R"({"vocab_size":null})"},
           {"--hf-overrides", R"({"num_attention_heads":null})"}}) {
    std::vector<std::string> all = {"--prompt-ids", "1"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran ran = run(all);
    EXPECT_EQ(ran.exit_code, kRefused);
    EXPECT_EQ(lines_of(ran.err), 1u) << ran.err;
  }
}

// The engine reads keys and tensors alone and would run it; the planner's reader finds two statements.
TEST(Generate, TellsWhatOnlyThePlannersReaderFindsAndJudgesTheRest) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("two_statements" + std::to_string(::getpid()));
  std::filesystem::copy(kDrafter, folder);
  std::ifstream in(kDrafter + "/config.json");
  std::string config((std::istreambuf_iterator<char>(in)), {});
  const std::string own = "Qwen3DSparkModel";
  ASSERT_NE(config.find(own), std::string::npos);
  std::ofstream(folder / "config.json")
      << config.replace(config.find(own), own.size(), "DeepseekV4ForCausalLM");
  const Ran ran =
      run({"--prompt", "x", "--max-model-len", "9999999", "--speculative-config.model", folder.string()});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ran.exit_code, kRefused);
  for (const char* part : {"architectures = DeepseekV4ForCausalLM", "--max-model-len = 9999999"})
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
}

TEST(Generate, RefusesThreadsFarBeyondTheCores) {
  testing::internal::CaptureStderr();
  const std::vector<std::string> words = {"--model", kTarget, "--prompt", "x", "--num-threads", "100000"};
  EXPECT_EQ(run_generate(words), kRefused);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--num-threads = 100000"), std::string::npos);
}

TEST(Generate, HelpListsTheKeysOfTheSpeculativeConfig) {
  const std::string help = run({"--help"}).out;
  for (const char* key : {"\n  num_speculative_tokens N ", "\n  confidence_threshold X ",
                          "\n  draft_sample_method greedy|probabilistic", "dspark, dflash, ngram"}) {
    EXPECT_NE(help.find(key), std::string::npos) << key;
  }
  EXPECT_EQ(help.find("synthetic"), std::string::npos);  // refused here: bench has it
}

TEST(Generate, RefusesATokenizerThatIsALinkOutOfTheFolder) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("links" + std::to_string(::getpid()));
  std::filesystem::copy(kTarget, folder);
  std::filesystem::remove(folder / "tokenizer.json");
  std::filesystem::create_symlink(kTarget + "/tokenizer.json", folder / "tokenizer.json");
  testing::internal::CaptureStderr();
  const int exit_code = run_generate(std::vector<std::string>{"--model", folder.string(), "--prompt", "x"});
  const std::string err = testing::internal::GetCapturedStderr();
  std::filesystem::remove_all(folder);
  EXPECT_EQ(exit_code, kRefused);
  EXPECT_NE(err.find("tokenizer.json"), std::string::npos) << err;
}

TEST(Generate, RefusesADrafterOfAnotherTargetWithBothValues) {
  const Ran ran = run({"--prompt", "x", "--speculative-config",
                       R"({"method":"dspark","model":")" + std::string(OUTRIDER_TEST_DATA) +
                           R"(/dspark/ds_vanilla_g7/drafter"})"});
  EXPECT_EQ(ran.exit_code, kRefused);
  EXPECT_NE(ran.err.find("48"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("256"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace outrider::cli
