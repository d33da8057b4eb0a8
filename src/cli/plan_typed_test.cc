// Command lines as people type them, each right or wrong in one way, with the verdict that vLLM's own
// argument parser and configuration classes give: as one text, the way a script or a chat holds it.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "cli/command.h"
#include "cli/plan_command.h"

namespace outrider::cli {
namespace {

using base::Json;

struct Typed {
  const char* text;  // "@name": a folder of tests/data/plan/configs
  // "RULE field" of each problem, and nothing else; or "field=value" of what was derived. Separated by ";".
  const char* expected;
};

constexpr Typed kPlans[] = {
    {"vllm serve @qwen3-32b -tp 4 --hf-overrides "
     "'{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":32768}}'"
     " "
     "--max-model-len 131072",
     "target.max_model_len=131072"},
    {"VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve @qwen3-8b --max-model-len 64K",
     "target.max_model_len=65536"},
    {"CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve @qwen3-32b -tp 4", "target.world_size=4"},
    {"vllm serve @qwen3.5-35b-a3b -tp 2 --hf-overrides "
     "'{\"text_config\":{\"max_position_embeddings\":1048576}}' "
     "--max-model-len 1000k",
     "target.max_model_len=1000000"},
    {"vllm serve @deepseek-v4-flash -tp 8 -ep --kv-cache-dtype fp8 --block-size 256 --tokenizer-mode "
     "deepseek_v4 \\\n"
     "  --tool-call-parser deepseek_v4 --enable-auto-tool-choice --reasoning-parser deepseek_v4 \\\n"
     "  --compilation-config '{\"cudagraph_mode\":\"FULL_AND_PIECEWISE\"}' --no-enable-prefix-caching",
     "target.block_size=256;target.enable_prefix_caching=false"},
    {"vllm serve @deepseek-v4-flash -dp 8 -ep --enable-eplb --eplb-config '{\"num_redundant_experts\":32}' "
     "-sc "
     "'{\"method\":\"mtp\",\"num_speculative_tokens\":2}'",
     "target.slots_per_rank=36;draft.enable_eplb=true;draft.slots_per_rank=36"},
    {"vllm serve @deepseek-v4-pro-dspark -tp 8 -pp 2 -ep -sc "
     "'{\"method\":\"dspark\",\"num_speculative_tokens\":5}'",
     "target.layers_per_stage=[31,30];draft.stage=1;draft.enable_expert_parallel=true"},
    {"vllm serve @kimi-k3 -tp 8 -ep --kv-cache-dtype fp8_ds_mla -sc "
     "'{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7}'",
     "draft.enable_expert_parallel=false;draft.taps=[2,23,47,71,89]"},
    {"vllm serve @glm-5 -tp 8 -pp 2 -sc '{\"method\":\"mtp\",\"num_speculative_tokens\":2}'",
     "draft.stage=1"},
    {"vllm serve @llama-3.1-8b -pp 3 -sc '{\"method\":\"eagle3\",\"model\":\"@eagle3-llama-3.1-8b\","
     "\"num_speculative_tokens\":3}'",
     "target.layers_per_stage=[11,11,10];draft.tap_stages=[0,1,2]"},
    {"vllm serve @qwen3-32b -tp 4 -sc '{\"model\":\"@qwen3-0.6b\",\"num_speculative_tokens\":4}'",
     "draft.method=\"draft_model\""},
    {"vllm serve @qwen3-32b -tp 4 -sc '{\"model\":\"[ngram]\",\"num_speculative_tokens\":4}'",
     "draft.method=\"ngram\""},
    {"vllm serve @qwen3-32b -tp 4 -sc '{\"method\":\"draft_model\",\"model\":\"@pard-qwen3-0.6b\","
     "\"parallel_drafting\":true,\"num_speculative_tokens\":8}'",
     "draft.num_speculative_tokens=8"},
    {"vllm serve @qwen3-8b -sc '{\"method\":\"suffix\"}'", "draft.num_speculative_tokens=24"},
    {"vllm serve @deepseek-v3 -tp 8 --spec-method deepseek_mtp --spec-tokens 2", "draft.method=\"mtp\""},
    {"vllm serve @deepseek-v3 -tp 8 -ep -dp 2 --enable-dbo --all2all-backend deepep_low_latency",
     "target.experts_per_rank=16"},
    {"vllm serve @deepseek-v3 -tp 8 -ep --all2all-backend pplx",
     "target.all2all_backend=\"allgather_reducescatter\""},
    {"docker run --gpus all --ipc=host -p 8000:8000 -e HF_TOKEN=x vllm/vllm-openai:latest --model "
     "@llama-3.1-8b "
     "--tensor-parallel-size 2 --max-num-batched-tokens 8k",
     "target.max_num_batched_tokens=8000"},
};

constexpr Typed kRefusals[] = {
    {"CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve @qwen3-32b -tp 8", "A12 target.world_size"},
    {"CUDA_VISIBLE_DEVICES= vllm serve @qwen3-8b", "A12 target.world_size"},
    {"CUDA_VISIBLE_DEVICES=-1 vllm serve @qwen3-8b", "A12 target.world_size"},
    {"vllm serve @qwen3.5-35b-a3b -tp 2 --hf-overrides '{\"max_position_embeddings\":1048576}' "
     "--max-model-len 1000k",
     "LEN target.max_model_len"},
    {"vllm serve @deepseek-v4.1-flash -tp 8 -pp 2 -ep -sc "
     "'{\"method\":\"dspark\",\"num_speculative_tokens\":5}'",
     "E1 target.pipeline_parallel_size"},
    {"vllm serve @glm-5 -tp 8 -dcp 8 --attention-backend flashmla_sparse", "C7 target.attention_backend"},
    {"vllm serve @gpt-oss-120b -tp 8 -sc '{\"method\":\"eagle3\",\"model\":\"@eagle3-llama-3.1-8b\","
     "\"num_speculative_tokens\":3}'",
     "H4 draft.config.vocab_size;H5 draft.config.hidden_size"},
    {"vllm serve @gemma-4-31b -tp 8 -dcp 2", "C7 target.decode_context_parallel_size"},
    {"vllm serve @gpt-oss-120b -tp 8 --kv-cache-dtype float8", "CLI target.kv_cache_dtype"},
    {"vllm serve @qwen3-8b -sc "
     "'{\"method\":\"medusa\",\"model\":\"@qwen3-0.6b\",\"num_speculative_tokens\":4}'",
     "S5 draft.method"},
    {"vllm serve @qwen3-8b -sc "
     "'{\"method\":\"ngram_gpu\",\"num_speculative_tokens\":4,\"prompt_lookup_max\":0}'",
     "A1 draft.prompt_lookup_max"},
    {"vllm serve @qwen3-32b -tp 4 -sc '{\"method\":\"draft_model\",\"model\":\"@qwen3-0.6b\","
     "\"num_speculative_tokens\":4,\"draft_load_config\":{\"load_format\":\"fast\",\"x\":1}}'",
     "CLI draft.load_format;JSON draft.draft_load_config.x"},
    {"vllm serve @deepseek-v3 -tp 8 --load-format runai_streamer --model-loader-extra-config "
     "'{\"concurrency\":0,\"distributd\":true}'",
     "JSON target.model_loader_extra_config.distributd;JSON target.model_loader_extra_config.concurrency"},
    {"vllm serve @deepseek-v3 -tp 8 --load-format sharded_state --model-loader-extra-config.concurrency 16",
     "JSON target.model_loader_extra_config.concurrency"},
    {"vllm serve @deepseek-v3 -tp 8 --gpu-memory-utilization 95 --max-num-seqs 0",
     "A1 target.max_num_seqs;CLI target.gpu_memory_utilization"},
    {"vllm serve @deepseek-v3 -tp 8 -ep --enable-eplb --num-redundant-experts 32",
     "CLI flag:--num-redundant-experts"},
    {"vllm serve @deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config '{\"redundant_experts\":8}'",
     "JSON target.eplb_config.redundant_experts"},
    {"vllm serve @deepseek-v3 -tp 8 --moe-backend deep-gemm-mega-moe", "B8 target.moe_backend"},
    {"vllm serve @deepseek-v3 -tp 4 -pcp 2 -pp 2", "X9 target.prefill_context_parallel_size"},
    {"vllm serve @kimi-k2 -tp 8 -dcp 8 -sc '{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\","
     "\"num_speculative_tokens\":3}'",
     "C1 draft.decode_context_parallel_size"},
    {"vllm serve @dspark-qwen3-8b-block7", "CONFIG target.model"},
    {"VLLM_DP_SIZE=two vllm serve @llama-3.1-8b", "CLI target.data_parallel_size"},
    {"vllm serve @deepseek-v3 -tp 8 -sc '{\"method\":\"mtp\",\"num_speculative_tokens\":1,"
     "\"num_speculative_tokens_per_batch_size\":[[1,8]]}'",
     "JSON draft.num_speculative_tokens_per_batch_size"},
    {"vllm serve @qwen3-14b -tp 4 -q nf4", "CLI target.quantization"},
    {"vllm serve @llama-3.1-8b -tp two -pp 1.5",
     "CLI target.tensor_parallel_size;CLI target.pipeline_parallel_size"},
    {"vllm serve @llama-3.1-8b -tp 2 --swap-space 8 --rope-scaling '{\"factor\":2}'",
     "CLI flag:--swap-space;CLI flag:--rope-scaling"},
    {"vllm serve @llama-3.1-8b @llama-3.1-8b --tensor_parallel_size",
     "CLI target.tensor_parallel_size;CLI flag:MODEL"},
    {"vllm serve @deepseek-v4-flash-dspark -tp 8 -ep --enable-dbo -sc "
     "'{\"method\":\"dspark\",\"num_speculative_tokens\":5}'",
     "X9 target.enable_dbo"},
    {"vllm serve @qwen3-30b-a3b -tp 4 -sc '{\"method\":\"dflash\",\"model\":\"@dflash-qwen3-8b-b16\","
     "\"num_speculative_tokens\":15}'",
     "H5 draft.config.hidden_size;H5 draft.config.num_target_layers"},
};

const std::string kConfigs = OUTRIDER_TEST_DATA "/plan/configs/";

Json answer_of(const char* typed) {
  std::string text = typed;
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += kConfigs.size())
    text.replace(at, 1, kConfigs);
  const std::vector<std::string> words = {"--json", "--", text};
  auto parsed = base::parse_json(answer_plan(words, {}).out, "answer");
  EXPECT_TRUE(parsed.ok()) << typed;
  return std::move(parsed).value();
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ';') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

TEST(PlanTyped, WhatVllmRunsIsPlannedWithWhatFollows) {
  for (const Typed& typed : kPlans) {
    const Json answer = answer_of(typed.text);
    EXPECT_EQ(*answer.find("verdict")->string(), "plan")
        << typed.text << answer.find("problems")->excerpt(600);
    for (const std::string& part : parts_of(typed.expected)) {
      const std::size_t equals = part.find('=');
      const Json* found = answer.find("derived")->find(part.substr(0, equals));
      ASSERT_NE(found, nullptr) << typed.text << part;
      EXPECT_EQ(found->excerpt(), part.substr(equals + 1)) << typed.text << part;
    }
  }
}

TEST(PlanTyped, WhatVllmRefusesIsRefusedForThatAndNothingElse) {
  for (const Typed& typed : kRefusals) {
    const Json answer = answer_of(typed.text);
    EXPECT_EQ(*answer.find("verdict")->string(), "refuse") << typed.text;
    std::vector<std::string> found, expected = parts_of(typed.expected);
    for (const Json& problem : *answer.find("problems")->array()) {
      std::string field = *problem.find("field")->string();
      if (field.starts_with("flag:/") || field.find(kConfigs.substr(0, 20)) != std::string::npos)
        field = "flag:MODEL";
      found.push_back(*problem.find("rule")->string() + " " + field);
      EXPECT_FALSE(problem.find("remedy")->string()->empty());
    }
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << typed.text << answer.find("problems")->excerpt(900);
  }
}

}  // namespace
}  // namespace outrider::cli
