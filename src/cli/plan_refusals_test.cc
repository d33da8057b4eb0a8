// One snapshot per rule, and runs with several faults: tests/data/plan_refusals.txt has every command with
// its refusal, as text. UPDATE_SNAPSHOTS=1 writes the file anew; it is then reviewed as a diff.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "plan/rules.h"

namespace outrider::cli {
namespace {

namespace fs = std::filesystem;

struct Command {
  const char* rule;  // that it must break
  const char* as;
  const char* words;  // separated by blanks; "@name" is a folder of tests/data/plan/configs, "%name" one of
                      // kPatched or kFiles
};

struct Patched {
  const char* name;
  const char* base;
  const char* from;
  const char* to;
};
// Configs with one text in them replaced.
constexpr Patched kPatched[] = {
    {"taps-out", "dspark-qwen3-8b-block7", "33", "36"},
    {"taps-two-names", "dspark-qwen3-8b-block7", "\"block_size\"",
     "\"dflash_config\": {\"target_layer_ids\": [1, 9, 17, 25, 34]}, \"block_size\""},
    {"no-such-head", "dspark-qwen3-4b-block7", "vanilla", "lstm"},
    {"wrong-class", "dspark-qwen3-8b-block7", "Qwen3DSparkModel", "DeepseekV4ForCausalLM"},
    {"large-head", "eagle3-llama-3.1-8b", "32000", "128512"},
    {"other-vocabulary", "dspark-qwen3-8b-block7", "151936", "151808"},
    {"ragged-groups", "deepseek-v3", "\"n_group\": 8", "\"n_group\": 7"},
    {"broken", "qwen3-8b", "\"hidden_size\": 4096", "\"hidden_size\": \"wide\""},
    {"sixty-layers", "deepseek-v4-pro-dspark", "\"num_hidden_layers\": 61", "\"num_hidden_layers\": 60"},
};
struct TextFile {
  const char* name;
  const char* text;
};
constexpr TextFile kFiles[] = {
    {"online.yaml", "num_slots: 384\nlayer_updates_per_iter: 2\n"},
    {"negative.yaml", "num_slots: 384\nlayer_updates_per_iter: -1\n"},
    {"empty-map.yaml", "num_slots: 384\ninitial_global_assignments: {}\n"},
    {"few-slots.yaml", "num_slots: 100\n"},
    {"twice.yaml", "num_slots: 128\nnum_slots: 132\nslots: 3\n"},
};

constexpr Command kCommands[] = {
    {"A1", "outrider", "plan --model @qwen3-8b -tp 0 -pp -2 --block-size 0"},
    {"A2", "outrider", "plan --model @qwen3-32b -tp 3"},
    {"A3", "vllm", "vllm serve @qwen3-14b -tp 5"},
    {"A4", "vllm", "vllm serve @deepseek-v4-pro -tp 16 -ep"},
    {"A5", "vllm", "vllm serve @deepseek-v3 -tp 8 -dcp 3"},
    {"A6", "outrider", "plan --model @deepseek-v3 -tp 4 -pcp 2"},
    {"A6", "vllm", "vllm serve @deepseek-v3 -tp 4 -pcp 2 -dcp 4"},
    {"A7", "vllm", "vllm serve @deepseek-v3 -tp 4 -pcp 2 -dp 2"},
    {"A8", "vllm", "vllm serve @deepseek-v3 -tp 8 --dcp-comm-backend a2a"},
    {"A9", "vllm", "vllm serve @deepseek-v3 -tp 8 -dcp 8 --block-size 16 --cp-kv-cache-interleave-size 64"},
    {"A10", "outrider",
     "plan --model @deepseek-v3 -tp 8 -dcp 8 --cp-kv-cache-interleave-size 16 --dcp-kv-cache-interleave-size "
     "8"},
    {"A11", "vllm", "VLLM_PP_LAYER_PARTITION=20,20,20 vllm serve @kimi-k2 -pp 3 -tp 8"},
    {"A12", "vllm",
     "--machine={\"nodes\":1,\"devices_per_node\":8} -- vllm serve @llama-3.1-70b -tp 8 -pp 2"},
    {"P5", "vllm", "vllm serve @deepseek-v3 -dp 2 -dpl 4"},
    {"P6", "vllm", "vllm serve @deepseek-v3 -tp 8 --data-parallel-external-lb"},
    {"LEN", "outrider", "plan --model @qwen3-8b --max-model-len 100000"},
    {"B2", "outrider",
     "plan --model @deepseek-v3 -tp 8 --speculative-config "
     "{\"method\":\"mtp\",\"pipeline_parallel_size\":2}"},
    {"B4", "vllm",
     "vllm serve @llama-3.1-8b -tp 4 -sc "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-llama-3.1-8b\",\"num_speculative_tokens\":3,\"draft_tensor_"
     "parallel_size\":2}"},
    {"B5", "vllm",
     "vllm serve @qwen3-32b -tp 8 -sc "
     "{\"method\":\"draft_model\",\"model\":\"@qwen3-0.6b\",\"num_speculative_tokens\":4,\"draft_tensor_"
     "parallel_size\":1}"},
    {"B6", "vllm",
     "vllm serve @llama-3.1-8b -tp 4 -sc "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-llama-3.1-8b\",\"num_speculative_tokens\":3,\"tensor_"
     "parallel_size\":1}"},
    {"B8", "vllm", "vllm serve @deepseek-v4-flash-dspark -tp 8 --moe-backend deep_gemm_mega_moe"},
    {"B9", "outrider",
     "plan --model @qwen3-30b-a3b -tp 4 -ep --speculative-config "
     "{\"method\":\"dflash\",\"model\":\"@dflash-qwen3-30b-a3b\",\"enable_expert_parallel\":true}"},
    {"B11", "vllm",
     "vllm serve @qwen3-8b --max-model-len 32768 -sc "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"num_speculative_tokens\":7,\"max_model_"
     "len\":65536}"},
    {"B12", "outrider",
     "plan --model @deepseek-v3 -dp 8 -ep --speculative-config {\"method\":\"mtp\",\"max_model_len\":4096}"},
    {"B14", "vllm", "vllm serve @qwen3-32b -sc {\"method\":\"draft_model\",\"model\":\"@qwen3-0.6b\"}"},
    {"B15", "outrider",
     "plan --model @qwen3-8b --speculative-config {\"method\":\"dspark\",\"model\":\"%wrong-class\"}"},
    {"B16", "outrider",
     "plan --model @qwen3-8b --speculative-config "
     "{\"method\":\"draft_model\",\"model\":\"@qwen3-8b\",\"num_speculative_tokens\":4}"},
    {"S3", "vllm", "vllm serve @qwen3-8b -sc {\"method\":\"dspark\",\"num_speculative_tokens\":7}"},
    {"S5", "vllm", "vllm serve @qwen3-8b -sc {\"method\":\"telepathy\",\"num_speculative_tokens\":7}"},
    {"S6", "vllm",
     "vllm serve @deepseek-v4.1-flash -tp 8 -ep -sc {\"method\":\"mtp\",\"num_speculative_tokens\":3}"},
    {"S12", "vllm",
     "vllm serve @deepseek-v3 -tp 8 -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"use_heterogeneous_vocab\":true}"},
    {"S13", "vllm",
     "vllm serve @qwen3-8b -tp 2 -sc "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"num_speculative_tokens\":7,\"dspark_"
     "draft_topk\":64}"},
    {"S14", "vllm",
     "vllm serve @deepseek-v3 -tp 8 -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"enable_adaptive_verification\":true}"},
    {"S15", "vllm",
     "vllm serve @deepseek-v3 -tp 8 -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":2,\"rejection_sample_method\":\"synthetic\",\"synthetic_"
     "acceptance_rates\":[0.5,0.7]}"},
    {"C1", "vllm", "vllm serve @qwen3-32b -tp 16 -dcp 4"},
    {"C3", "vllm",
     "vllm serve @kimi-k3 -tp 8 -dcp 8 -sc "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_tensor_"
     "parallel_size\":1}"},
    {"C3", "outrider",
     "plan --model @kimi-k2 -tp 8 -dcp 8 --speculative-config "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\",\"num_speculative_tokens\":3,\"decode_context_"
     "parallel_size\":8}"},
    {"C7", "outrider", "plan --model @deepseek-v4-flash -tp 8 -dcp 2"},
    {"C9", "vllm",
     "vllm serve @deepseek-v3 -tp 4 -pcp 2 -sc {\"method\":\"mtp\",\"num_speculative_tokens\":1}"},
    {"X9", "vllm", "vllm serve @qwen3-8b -tp 4 -pcp 2 -pp 2"},
    {"D1", "vllm", "vllm serve @qwen3-235b-a22b -tp 8 --enable-eplb"},
    {"D2", "vllm", "vllm serve @qwen3-30b-a3b -ep --enable-eplb"},
    {"D3", "vllm", "vllm serve @qwen3-235b-a22b -tp 8 -ep --eplb-config {\"num_redundant_experts\":16}"},
    {"D4", "vllm",
     "vllm serve @deepseek-v3 -tp 4 -pp 2 -ep --enable-elastic-ep -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1}"},
    {"D5", "vllm", "vllm serve @deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 33"},
    {"D6", "outrider", "plan --model %ragged-groups -tp 8 -ep"},
    {"D10", "outrider", "plan --model @qwen3-8b -tp 8 --enable-eplb --eplb-config {\"draft\":{}}"},
    {"D13", "vllm", "vllm serve @deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.communicator pynccl"},
    {"D16", "trtllm",
     "plan --model @deepseek-v4-pro-dspark -tp 8 -ep --enable-eplb --eplb-config %online.yaml "
     "--speculative-config {\"method\":\"dspark\"}"},
    {"D16", "outrider",
     "plan --model @deepseek-v4-pro-dspark -tp 8 -ep --enable-eplb --eplb-config %negative.yaml"},
    {"D17", "trtllm",
     "plan --model @deepseek-v4-pro-dspark -tp 8 -ep --enable-eplb --eplb-config %empty-map.yaml"},
    {"D17", "outrider", "plan --model @qwen3-30b-a3b -tp 4 -ep --enable-eplb --eplb-config %few-slots.yaml"},
    {"D18", "trtllm",
     "plan --model @deepseek-v4-pro-dspark -tp 8 -ep --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"%sixty-layers\"}"},
    {"D19", "vllm",
     "vllm serve @qwen3-32b -tp 8 -dp 2 -sc "
     "{\"method\":\"draft_model\",\"model\":\"@qwen3-30b-a3b\",\"num_speculative_tokens\":4}"},
    {"D20", "vllm", "vllm serve @deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.step_interval 40"},
    {"X2", "vllm", "vllm serve @qwen3-32b -tp 8 -ep"},
    {"E2", "outrider",
     "plan --model @qwen3-8b --speculative-config {\"method\":\"dspark\",\"model\":\"%taps-out\"}"},
    {"E3", "outrider",
     "plan --model @qwen3-8b --speculative-config {\"method\":\"dspark\",\"model\":\"%taps-two-names\"}"},
    {"E7", "vllm",
     "vllm serve @deepseek-v4-flash-dspark -tp 8 -pp 2 -ep -sc "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":5,\"enable_adaptive_verification\":true}"},
    {"F1", "vllm",
     "vllm serve @kimi-k3 -tp 8 -pp 2 --load-format instanttensor -sc "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7}"},
    {"F3", "vllm",
     "vllm serve @kimi-k3 -tp 8 -pp 2 -sc "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"fastsafetensors\"}}"},
    {"F5", "vllm",
     "vllm serve @kimi-k3 -tp 8 --load-format tensorizer -sc "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"tensorizer\"}}"},
    {"I1", "vllm",
     "vllm serve @deepseek-v3 -dp 8 -ep -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"num_speculative_tokens_per_batch_size\":[[1,8,1]]}"},
    {"G2", "vllm", "vllm serve @deepseek-v3 -tp 8 --quantization awq"},
    {"G3", "vllm", "vllm serve @qwen3.5-35b-a3b -tp 2 --moe-backend marlin"},
    {"G5", "vllm",
     "vllm serve @kimi-k2 -tp 8 -sc "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\",\"num_speculative_tokens\":3,\"kv_cache_dtype\":"
     "\"fp8_ds_mla\"}"},
    {"X8", "vllm", "vllm serve @deepseek-v3 -tp 8 --kv-cache-dtype nvfp4"},
    {"H1", "vllm",
     "vllm serve @llama-3.1-8b -sc "
     "{\"method\":\"draft_model\",\"model\":\"@qwen3-0.6b\",\"num_speculative_tokens\":4}"},
    {"H2", "vllm",
     "vllm serve @llama-3.1-8b -sc "
     "{\"method\":\"eagle3\",\"model\":\"%large-head\",\"num_speculative_tokens\":4}"},
    {"H4", "outrider",
     "plan --model @qwen3-8b --speculative-config {\"method\":\"dspark\",\"model\":\"%other-vocabulary\"}"},
    {"H5", "outrider",
     "plan --model @qwen3-4b --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\"}"},
    {"H6", "trtllm",
     "plan --model @deepseek-v4-flash-dspark -tp 8 -ep --speculative-config "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":7}"},
    {"H7", "outrider",
     "plan --model @qwen3-4b --speculative-config {\"method\":\"dspark\",\"model\":\"%no-such-head\"}"},
    {"CLI", "vllm",
     "vllm serve @qwen3-30b-a3b --tensor-parallel 8 --enable-experts-parallel --load-format fasttensors"},
    {"CLI", "outrider", "plan --model @qwen3-30b-a3b --gpu-memory-utilization 0.9 --moe-backend marlin"},
    {"JSON", "vllm",
     "vllm serve @qwen3-8b -sc "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":7,\"num_speculative_tokens\":5,\"num_draft_layers\":"
     "5}"},
    {"YAML", "trtllm", "plan --model @qwen3-30b-a3b -tp 4 -ep --enable-eplb --eplb-config %twice.yaml"},
    {"CONFIG", "outrider", "plan --model %broken"},
    // Several faults at once.
    {"A2", "outrider",
     "plan --model @qwen3-30b-a3b -tp 6 --enable-eplb --eplb-config.num_redundant_experts 16 "
     "--dcp-comm-backend a2a --speculative-config "
     "{\"method\":\"dflash\",\"model\":\"@dflash-qwen3-30b-a3b\",\"num_speculative_tokens\":15,\"draft_"
     "tensor_parallel_size\":4}"},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class PlanRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("plan_refusals_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    for (const Patched& patched : kPatched) {
      const auto text = base::read_text_file(configs_ + patched.base + "/config.json");
      ASSERT_NE(text->find(patched.from), std::string::npos) << patched.name;
      write(folder_ / patched.name / "config.json", replaced(*text, patched.from, patched.to));
    }
    for (const TextFile& file : kFiles) write(folder_ / file.name, file.text);
  }
  void TearDown() override { fs::remove_all(folder_); }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  PlanAnswer run(const Command& command) const {
    std::vector<std::string> words = {"--as", command.as};
    std::string rest = replaced(replaced(command.words, "@", configs_), "%", folder_.string() + "/");
    const bool pasted = rest.find("vllm serve") != std::string::npos;
    if (pasted && rest.find("-- ") == std::string::npos) words.push_back("--");
    if (rest.starts_with("plan ")) rest = rest.substr(5);
    while (!rest.empty()) {
      const std::size_t blank = rest.find(' ');
      words.push_back(rest.substr(0, blank));
      rest = blank == std::string::npos ? "" : rest.substr(blank + 1);
    }
    return answer_plan(words, {});
  }
  // Paths as they were written in the table.
  std::string shown(const std::string& text) const {
    return replaced(replaced(text, configs_, "@"), folder_.string() + "/", "%");
  }

  const std::string configs_ = OUTRIDER_TEST_DATA "/plan/configs/";
  fs::path folder_;
};

TEST_F(PlanRefusals, EveryRuleRefusesInTheseWords) {
  std::string all;
  for (const Command& command : kCommands) {
    const PlanAnswer answer = run(command);
    EXPECT_EQ(answer.code, kRefused) << command.words << answer.out;
    EXPECT_NE(answer.err.find("\n  " + std::string(command.rule) + " "), std::string::npos)
        << command.words << "\n"
        << answer.err;
    all += "$ (" + std::string(command.as) + ") " + command.words + "\n" + shown(answer.err) + "\n";
  }
  const std::string path = OUTRIDER_TEST_DATA "/plan_refusals.txt";
  if (std::getenv("UPDATE_SNAPSHOTS") != nullptr) std::ofstream(path) << all;
  const auto expected = base::read_text_file(path);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(all, *expected);
}

TEST_F(PlanRefusals, NoRuleThatRefusesIsWithoutASnapshot) {
  std::set<std::string, std::less<>> shown;
  for (const Command& command : kCommands) shown.insert(command.rule);
  for (const plan::Rule* rule : plan::all_rules()) {
    if (rule->verdict == plan::Verdict::Refuse) {
      EXPECT_TRUE(shown.contains(rule->id)) << rule->id;
    }
  }
}

TEST(PlanDocuments, RefusalsAreThoseOfTheTable) {
  const std::string path = OUTRIDER_TEST_DATA "/../../docs/refusals.md";
  if (std::getenv("UPDATE_SNAPSHOTS") != nullptr) std::ofstream(path) << plan::refusals_document();
  const auto text = base::read_text_file(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, plan::refusals_document())
      << "write it anew: outrider plan --explain all --markdown > docs/refusals.md";
}

TEST(PlanDocuments, DiffTellsWhatChangedFieldByField) {
  const std::string model = OUTRIDER_TEST_DATA "/plan/configs/qwen3-8b";
  const fs::path file =
      fs::path(::testing::TempDir()) / ("plan_diff_" + std::to_string(::getpid()) + ".json");
  std::ofstream(file)
      << answer_plan(std::vector<std::string>{"--json", "--model", model, "-tp", "2"}, {}).out;
  const auto diff = [&](const std::string& ranks) {
    const std::vector<std::string> words = {"--diff", file.string(), "--model", model, "-tp", ranks};
    return answer_plan(words, {}).out;
  };
  EXPECT_EQ(diff("2"), "no difference\n");
  const std::string changed = diff("4");
  EXPECT_NE(changed.find("target.tensor_parallel_size: 2 -> 4\n"), std::string::npos) << changed;
  EXPECT_NE(changed.find("target.kv_heads_per_rank: 4 -> 2\n"), std::string::npos) << changed;
  EXPECT_EQ(changed.find("target.max_model_len"), std::string::npos) << changed;
  fs::remove(file);
}

// Words of a shell line: blanks separate, single quotes hold together.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

TEST(PlanDocuments, TheGuideShowsWhatIsPrinted) {
  const auto guide = base::read_text_file(OUTRIDER_TEST_DATA "/../../docs/plan.md");
  ASSERT_TRUE(guide.ok());
  const fs::path before = fs::current_path();
  fs::current_path(OUTRIDER_TEST_DATA "/plan/configs");
  const std::string opening = "```text\n$ outrider plan ";
  int shown = 0;
  for (std::size_t at = 0; (at = guide->find(opening, at)) != std::string::npos; ++shown) {
    at += opening.size();
    std::string block = guide->substr(at, guide->find("\n```", at) - at);
    for (std::size_t cut; (cut = block.find("\\\n   ")) != std::string::npos;) block.erase(cut, 5);
    const std::size_t line = block.find('\n');
    const PlanAnswer answer = answer_plan(shell_words(block.substr(0, line)), {});
    EXPECT_EQ(block.substr(line + 1) + "\n", answer.out + answer.err);
  }
  fs::current_path(before);
  EXPECT_EQ(shown, 3);
}

TEST(PlanDocuments, EveryRuleExplainsItself) {
  std::set<std::string_view> ids;
  for (const plan::Rule* rule : plan::all_rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    const std::vector<std::string> words = {"--explain", std::string(rule->id)};
    const PlanAnswer answer = answer_plan(words, {});
    EXPECT_EQ(answer.code, kDone);
    EXPECT_NE(answer.out.find(rule->condition.substr(0, 20)), std::string::npos);
    EXPECT_EQ(rule->check == nullptr && rule->verdict == plan::Verdict::Warn, false) << rule->id;
  }
}

}  // namespace
}  // namespace outrider::cli
