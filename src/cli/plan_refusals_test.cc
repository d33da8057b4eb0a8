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
#include "cli/commands.h"
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
    {"packed-int4", "qwen3-8b", "\"hidden_size\"",
     "\"quantization_config\": {\"quant_method\": \"outrider\", \"bits\": 4}, \"hidden_size\""},
    {"narrow-experts", "deepseek-v4-flash-dspark", "\"moe_intermediate_size\": 2048",
     "\"moe_intermediate_size\": 1000"},
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
    {"P1", "vllm", "vllm serve @deepseek-v3 -tp 8 --data-parallel-rpc-port 70000 --node-rank -1"},
    {"P3", "vllm", "vllm serve @deepseek-v3 -tp 8 -dp 2 -ep --enable-fault-tolerance"},
    {"P6", "vllm", "vllm serve @deepseek-v3 -tp 8 -dp 2 -dph -dpe"},
    {"P20", "vllm", "plan -- VLLM_DP_SIZE=4 vllm serve @qwen3-8b"},
    {"P19", "vllm", "vllm serve @deepseek-v3 -dp 8 -ep --data-parallel-rank 8"},
    {"P22", "vllm", "vllm serve @deepseek-v3 -tp 8 -pp 2 -n 2 --distributed-executor-backend ray"},
    {"P24", "vllm", "vllm serve @qwen3-8b --ray-workers-use-nsight"},
    {"X12", "vllm",
     "vllm serve @qwen3-8b --async-scheduling -sc {\"method\":\"ngram\",\"num_speculative_tokens\":4}"},
    {"X13", "vllm",
     "vllm serve @qwen3-8b --max-num-batched-tokens 6 -sc "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"num_speculative_tokens\":7}"},
    {"X14", "vllm",
     "vllm serve @deepseek-v3 -tp 8 --kv-sharing-fast-prefill -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1}"},
    {"X9", "vllm",
     "vllm serve @deepseek-v4-flash-dspark -tp 8 -ep --enable-dbo --enforce-eager --enable-lora -sc "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":5,\"enable_adaptive_verification\":true}"},
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
    {"C6", "vllm",
     "vllm serve @deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 64 -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1}"},
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
    {"D11", "vllm", "vllm serve @gpt-oss-120b -tp 8 -ep --enable-eplb"},
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
    {"E1", "vllm",
     "vllm serve @kimi-k2 -tp 8 -pp 2 -sc "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\",\"num_speculative_tokens\":3}"},
    {"E1", "trtllm", "plan --model @deepseek-v3 -tp 8 -pp 2 --speculative-config {\"method\":\"mtp\"}"},
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
    {"F4", "vllm", "vllm serve %sharded -tp 4 --load-format sharded_state"},
    {"F5", "vllm",
     "vllm serve @kimi-k3 -tp 8 --load-format tensorizer -sc "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"tensorizer\"}}"},
    {"I1", "vllm",
     "vllm serve @deepseek-v3 -dp 8 -ep -sc "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"num_speculative_tokens_per_batch_size\":[[1,8,1]]}"},
    {"G2", "vllm", "vllm serve @deepseek-v3 -tp 8 --quantization awq"},
    {"G3", "vllm", "vllm serve @qwen3.5-35b-a3b -tp 2 --moe-backend marlin"},
    {"G4", "vllm", "vllm serve @deepseek-v3 -tp 8 --attention-backend FLASHINFER"},
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
    {"H9", "outrider",
     "plan --model @qwen3.5-35b-a3b -tp 2 --hf-overrides "
     "{\"num_hidden_layers\":4,\"text_config\":{\"hiden_size\":1}}"},
    {"R1", "outrider",
     "generate --model @qwen3-0.6b --load-format dummy --prompt-ids 1 --speculative-config "
     "{\"method\":\"suffix\",\"num_speculative_tokens\":4}"},
    {"R2", "outrider",
     "generate --model @qwen3-0.6b --load-format dummy --prompt-ids 1 --speculative-config "
     "{\"method\":\"ngram\",\"model\":\"@qwen3-0.6b\"}"},
    {"R2", "outrider",
     "plan --model @qwen3-8b -sc "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":3,\"quantization\":\"int4\",\"block_size\":8}"},
    {"R2", "outrider",
     "plan --model @qwen3-8b -sc "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"prompt_lookup_max\":3}"},
    {"A4", "vllm",
     "plan --model @deepseek-v4-flash -tp 8 -sc {\"method\":\"dspark\",\"model\":\"%narrow-experts\"}"},
    {"G2", "vllm", "plan -- vllm serve @qwen3-8b -q gptq"},
    {"CLI", "outrider", "plan --model="},
    {"CLI", "vllm", "plan -- vllm serve --model="},
    {"R3", "outrider",
     "plan --machine={\"cores\":2,\"kernel_targets\":[\"reference\",\"avx2\"]} --model @qwen3-8b "
     "--num-threads 1024 --kernel-target avx512"},
    {"R4", "outrider",
     "plan --model @qwen3-30b-a3b --speculative-config "
     "{\"method\":\"dflash\",\"model\":\"@dflash-qwen3-30b-a3b\",\"num_speculative_tokens\":7,\"block_size\":"
     "7}"},
    {"R5", "outrider",
     "plan --model @qwen3-8b --speculative-config "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":4,\"prompt_lookup_min\":6,\"prompt_lookup_max\":65}"},
    {"R6", "outrider",
     "plan --model @qwen3-8b --speculative-config "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":4,\"confidence_threshold\":1.5}"},
    {"R7", "outrider", "plan --model %packed-int4 --quantization int8"},
    {"R8", "outrider", "plan --model @qwen3-8b --num-kv-blocks 0"},
    {"R9", "outrider",
     "plan --model @qwen3-8b --rejection-sample-method standard --speculative-config "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":4,\"rejection_sample_method\":\"drafter_invariant\"}"},
    {"MEM", "outrider",
     "plan --machine={\"device_memory_bytes\":8589934592} --model @qwen3-8b --max-model-len 4096"},
    {"MEM", "outrider",
     "plan --machine={\"device_memory_bytes\":8589934592} --model @qwen3-8b --quantization int4 "
     "--max-num-seqs 8"},
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
    const auto config = base::read_text_file(configs_ + "qwen3-8b/config.json");
    write(folder_ / "sharded" / "config.json", *config);
    for (const char* rank : {"0", "1"})
      write(folder_ / "sharded" / ("model-rank-" + std::string(rank) + "-part-0.safetensors"), "");
  }
  void TearDown() override { fs::remove_all(folder_); }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  PlanAnswer run(const Command& command, bool json = false) const {
    std::vector<std::string> words = {"--as", command.as};
    if (json) words.insert(words.begin(), "--json");
    std::string rest = replaced(replaced(command.words, "@", configs_), "%", folder_.string() + "/");
    const bool runs = rest.starts_with("generate ");
    if (runs) words.clear(), rest = rest.substr(9);
    const bool pasted = rest.find("vllm serve") != std::string::npos;
    if (pasted && rest.find("-- ") == std::string::npos) words.push_back("--");
    if (rest.starts_with("plan ")) rest = rest.substr(5);
    while (!rest.empty()) {
      const std::size_t blank = rest.find(' ');
      words.push_back(rest.substr(0, blank));
      rest = blank == std::string::npos ? "" : rest.substr(blank + 1);
    }
    if (!runs) return answer_plan(words, {});
    testing::internal::CaptureStderr();
    const int code = run_generate(words);
    return {.code = code, .out = "", .err = testing::internal::GetCapturedStderr()};
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
    const bool told = answer.err.find("\n  " + std::string(command.rule) + " ") != std::string::npos ||
                      answer.err.find("(rule " + std::string(command.rule) + ")") != std::string::npos;
    EXPECT_TRUE(told) << command.words << "\n" << answer.err;
    all += "$ (" + std::string(command.as) + ") " + command.words + "\n" + shown(answer.err) + "\n";
  }
  const std::string path = OUTRIDER_TEST_DATA "/plan_refusals.txt";
  if (std::getenv("UPDATE_SNAPSHOTS") != nullptr) std::ofstream(path) << all;
  const auto expected = base::read_text_file(path);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(all, *expected);
}

TEST_F(PlanRefusals, EveryProblemSaysWhereItIsAndWhatToDo) {
  for (const Command& command : kCommands) {
    if (std::string_view(command.words).starts_with("generate ")) continue;  // no JSON for what runs
    const auto answer = base::parse_json(run(command, true).out, "answer");
    ASSERT_TRUE(answer.ok()) << command.words;
    for (const base::Json& problem : *answer->find("problems")->array()) {
      for (const char* part : {"rule", "field", "message", "remedy"})
        EXPECT_FALSE(problem.find(part)->string()->empty()) << command.words << "\n" << problem.excerpt(300);
    }
  }
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

}  // namespace
}  // namespace outrider::cli
