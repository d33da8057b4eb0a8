// One row per rule and engine: a command that breaks it, the field and the words that the published rule asks
// for (condition and message of the rule, not what we print), and the nearest command that it lets pass. The
// passing command may break other rules; it must not report this one for this field.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "cli/command.h"
#include "cli/plan_command.h"
#include "plan/rules.h"

namespace outrider::cli {
namespace {

using base::Json;

struct Row {
  const char* rule;
  const char* as;  // engines, separated by blanks
  const char* breaks;
  const char* field;
  const char* says;  // what message or remedy must hold
  const char* passes;
};

// "@name": a folder of tests/data/plan/configs. A method in front of "+" is short for --speculative-config.
constexpr Row kRows[] = {
    {"A1", "outrider vllm trtllm", "@qwen3-8b -tp 0", "target.tensor_parallel_size", "must be >= 1",
     "@qwen3-8b -tp 1"},
    {"A1", "outrider vllm trtllm", "@qwen3-8b +ngram,0", "draft.num_speculative_tokens", "must be >= 1",
     "@qwen3-8b +ngram,1"},
    {"A2", "outrider vllm trtllm", "@qwen3-32b -tp 3", "target.tensor_parallel_size",
     "64 attention heads not divisible by tp=3", "@qwen3-32b -tp 4"},
    {"A3", "outrider vllm trtllm", "@qwen3-14b -tp 5", "target.tensor_parallel_size",
     "8 KV heads neither divide nor are divided by tp=5", "@qwen3-14b -tp 4"},
    {"A4", "outrider vllm trtllm", "@deepseek-v4-pro -tp 16 -ep", "target.tensor_parallel_size",
     "192 not divisible by quant block 128 at tp=16", "@deepseek-v4-pro -tp 8 -ep"},
    {"A5", "outrider vllm trtllm", "@deepseek-v3 -tp 8 -dcp 3", "target.decode_context_parallel_size",
     "tp=8 must be divisible by dcp=3", "@deepseek-v3 -tp 8 -dcp 4"},
    {"A6", "outrider trtllm", "@deepseek-v3 -tp 4 -pcp 2", "target.prefill_context_parallel_size",
     "prefill context parallelism is not in this engine (got 2)", "@deepseek-v3 -tp 4 -pcp 1"},
    {"A6", "vllm", "@deepseek-v3 -tp 4 -pcp 2 -dcp 4", "target.decode_context_parallel_size", "pcp=2",
     "@deepseek-v3 -tp 4 -pcp 2 -dcp 8"},
    {"A7", "vllm", "@deepseek-v3 -tp 4 -pcp 2 -dp 2", "target.prefill_context_parallel_size",
     "data parallelism", "@deepseek-v3 -tp 4 -pcp 2"},
    {"A8", "outrider vllm trtllm", "@deepseek-v3 -tp 8 --dcp-comm-backend a2a", "target.dcp_comm_backend",
     "requires decode_context_parallel_size > 1", "@deepseek-v3 -tp 8 -dcp 8 --dcp-comm-backend a2a"},
    {"A9", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 -dcp 8 --block-size 16 --cp-kv-cache-interleave-size 64", "target.block_size",
     "block_size=16 must be a multiple of",
     "@deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 64"},
    {"A10", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 16 "
     "--dcp-kv-cache-interleave-size 8",
     "target.cp_kv_cache_interleave_size", "disagree",
     "@deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 16 "
     "--dcp-kv-cache-interleave-size 16"},
    {"A11", "outrider vllm trtllm", "@qwen3-8b -pp 37", "target.pipeline_parallel_size", "36 layers",
     "@qwen3-8b -pp 36"},
    {"A12", "outrider vllm trtllm",
     "--machine={\"nodes\":1,\"devices_per_node\":8} @llama-3.1-70b -tp 8 -pp 2", "target.world_size",
     "needs 16 devices, 8 visible on 1 node",
     "--machine={\"nodes\":2,\"devices_per_node\":8} @llama-3.1-70b -tp 8 -pp 2"},
    {"P5", "outrider vllm trtllm", "@deepseek-v3 -dp 2 -dpl 4", "target.data_parallel_size_local",
     "must be <= data_parallel_size=2", "@deepseek-v3 -dp 4 -dpl 4"},
    {"P6", "vllm", "@deepseek-v3 -tp 8 -dpe", "target.data_parallel_external_lb", "data_parallel_size > 1",
     "@deepseek-v3 -tp 8 -dp 2 -dpe --data-parallel-rank 0"},
    {"P19", "vllm", "@deepseek-v3 -dp 8 -ep --data-parallel-rank 8", "target.data_parallel_rank", "[0, 8)",
     "@deepseek-v3 -dp 8 -ep --data-parallel-rank 7"},
    {"P22", "vllm", "@deepseek-v3 -tp 8 -pp 2 -n 2 --distributed-executor-backend ray", "target.nnodes",
     "mp, uni or external_launcher", "@deepseek-v3 -tp 8 -pp 2 -n 2"},
    {"LEN", "outrider vllm trtllm", "@qwen3-8b --max-model-len 40961", "target.max_model_len",
     "40960 positions", "@qwen3-8b --max-model-len 40960"},
    {"B2", "outrider",
     "@deepseek-v3 -tp 8 --speculative-config {\"method\":\"mtp\",\"pipeline_parallel_size\":2}",
     "draft.pipeline_parallel_size", "pipeline parallel drafts are not supported (got 2)",
     "@deepseek-v3 -tp 8 --speculative-config {\"method\":\"mtp\",\"pipeline_parallel_size\":1}"},
    {"B4", "vllm trtllm", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,2",
     "draft.tensor_parallel_size", "tp=2 must be 1 or equal to target tp=4",
     "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,4"},
    {"B4", "outrider", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,3", "draft.tensor_parallel_size",
     "tp=4", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,2"},
    {"B5", "vllm", "@qwen3-32b -tp 8 +draft_model,4,@qwen3-0.6b,1", "draft.tensor_parallel_size",
     "tp group of 8", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,1"},
    {"B5", "trtllm", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,1", "draft.tensor_parallel_size",
     "tp group of 4", "@llama-3.1-8b -tp 4 +eagle3,3,@eagle3-llama-3.1-8b,4"},
    {"B6", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 --speculative-config {\"method\":\"mtp\",\"tensor_parallel_size\":1}",
     "speculative_config.tensor_parallel_size", "draft_tensor_parallel_size",
     "@deepseek-v3 -tp 8 --speculative-config {\"method\":\"mtp\",\"draft_tensor_parallel_size\":8}"},
    {"B8", "vllm", "@deepseek-v4-flash-dspark -tp 8 --moe-backend deep_gemm_mega_moe +dspark,5",
     "target.moe_backend", "requires expert parallel",
     "@deepseek-v4-flash-dspark -tp 8 -ep --moe-backend deep_gemm_mega_moe +dspark,5"},
    {"B9", "outrider",
     "@qwen3-30b-a3b -tp 4 -ep --speculative-config "
     "{\"method\":\"dflash\",\"model\":\"@dflash-qwen3-30b-a3b\",\"enable_expert_parallel\":true}",
     "draft.enable_expert_parallel", "the draft has 0 experts",
     "@qwen3-30b-a3b -tp 4 -ep +dflash,15,@dflash-qwen3-30b-a3b"},
    {"B11", "outrider vllm trtllm",
     "@qwen3-8b --max-model-len 32768 --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"num_speculative_tokens\":7,\"max_model_"
     "len\":32769}",
     "draft.max_model_len", "32768",
     "@qwen3-8b --max-model-len 32768 --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@dspark-qwen3-8b-block7\",\"num_speculative_tokens\":7,\"max_model_"
     "len\":32768}"},
    {"B12", "outrider vllm",
     "@deepseek-v3 -dp 8 -ep --speculative-config "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"max_model_len\":4096}",
     "draft.max_model_len", "deadlock",
     "@deepseek-v3 -tp 8 -ep --speculative-config "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"max_model_len\":4096}"},
    {"B14", "outrider vllm trtllm",
     "@qwen3-32b --speculative-config {\"method\":\"draft_model\",\"model\":\"@qwen3-0.6b\"}",
     "draft.num_speculative_tokens", "not given", "@qwen3-32b +draft_model,4,@qwen3-0.6b"},
    {"B15", "outrider vllm trtllm", "@qwen3-8b +dflash,7,@eagle3-llama-3.1-8b", "draft.method", "eagle3",
     "@qwen3-8b +dflash,7,@dflash-qwen3-8b-b16"},
    {"B16", "outrider vllm trtllm", "@qwen3-8b +draft_model,4,@qwen3-8b", "draft.model", "the target's",
     "@qwen3-8b +draft_model,4,@qwen3-0.6b"},
    {"S3", "outrider vllm trtllm", "@qwen3-8b +dspark,7", "draft.model", "needs a model",
     "@deepseek-v4-flash-dspark -tp 8 +dspark,5"},
    {"S5", "outrider vllm trtllm", "@qwen3-8b +telepathy,7", "draft.method", "telepathy",
     "@qwen3-8b +ngram,7"},
    {"S5", "vllm", "@qwen3-32b -tp 4 +pard,8,@pard-qwen3-0.6b", "draft.method", "no method pard",
     "@qwen3-32b -tp 4 +draft_model,8,@qwen3-0.6b"},
    {"S6", "outrider vllm trtllm", "@deepseek-v4.1-flash -tp 8 -ep +mtp,3", "draft.method", "dspark",
     "@deepseek-v4.1-flash -tp 8 -ep +dspark,5"},
    {"S14", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 --speculative-config "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"enable_adaptive_verification\":true}",
     "draft.enable_adaptive_verification", "dspark",
     "@deepseek-v4-flash-dspark -tp 8 --speculative-config "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":5,\"enable_adaptive_verification\":true}"},
    {"C1", "outrider vllm trtllm", "@qwen3-235b-a22b -tp 8 -dcp 4", "target.decode_context_parallel_size",
     "dcp=4 exceeds 2", "@qwen3-235b-a22b -tp 8 -dcp 2"},
    {"C3", "vllm", "@kimi-k3 -tp 8 -dcp 8 +dspark,7,@k3-dspark-mla,1", "draft.tensor_parallel_size",
     "must be divisible by dcp=8", "@kimi-k3 -tp 8 -dcp 8 +dspark,7,@k3-dspark-mla"},
    {"C3", "outrider",
     "@kimi-k2 -tp 8 -dcp 8 --speculative-config "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\",\"num_speculative_tokens\":3,\"decode_context_"
     "parallel_size\":8}",
     "draft.decode_context_parallel_size", "dcp=8 impossible",
     "@kimi-k2 -tp 8 -dcp 8 +eagle3,3,@eagle3-kimi-k2"},
    {"C6", "vllm", "@deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 64 +mtp,1",
     "target.cp_kv_cache_interleave_size", "interleave_size=64",
     "@deepseek-v3 -tp 8 -dcp 8 --block-size 64 --cp-kv-cache-interleave-size 64"},
    {"C7", "outrider vllm trtllm", "@gpt-oss-120b -tp 16 -dcp 2", "target.decode_context_parallel_size",
     "sliding window", "@gpt-oss-120b -tp 16"},
    {"C7", "vllm", "@qwen3-235b-a22b -tp 8 -dcp 2 --attention-backend TRITON_ATTN",
     "target.attention_backend", "log-sum-exp",
     "@qwen3-235b-a22b -tp 8 -dcp 2 --attention-backend FLASHINFER"},
    {"C9", "vllm", "@deepseek-v3 -tp 4 -pcp 2 +mtp,1", "target.prefill_context_parallel_size", "drafter",
     "@deepseek-v3 -tp 4 -pcp 2"},
    {"X9", "vllm", "@qwen3-8b -tp 4 -pcp 2", "target.prefill_context_parallel_size", "MLA",
     "@deepseek-v3 -tp 4 -pcp 2"},
    {"X9", "vllm", "@deepseek-v3 -tp 8 -ep -dp 2 --enable-dbo", "target.all2all_backend",
     "deepep_low_latency", "@deepseek-v3 -tp 8 -ep -dp 2 --enable-dbo --all2all-backend deepep_low_latency"},
    {"X12", "vllm", "@qwen3-8b --async-scheduling +suffix,8", "target.async_scheduling", "suffix",
     "@deepseek-v3 -tp 8 --async-scheduling +mtp,1"},
    {"X13", "vllm", "@qwen3-8b --max-num-batched-tokens 15 +dflash,15,@dflash-qwen3-8b-b16",
     "target.max_num_batched_tokens", "15 rows",
     "@qwen3-8b --max-num-batched-tokens 16 +dflash,15,@dflash-qwen3-8b-b16"},
    {"D1", "outrider vllm trtllm", "@qwen3-235b-a22b -tp 8 --enable-eplb", "target.enable_eplb",
     "requires enable_expert_parallel", "@qwen3-235b-a22b -tp 8 -ep --enable-eplb"},
    {"D2", "outrider vllm trtllm", "@qwen3-30b-a3b -ep --enable-eplb", "target.enable_eplb", "more than 1",
     "@qwen3-30b-a3b -tp 2 -ep --enable-eplb"},
    {"D3", "outrider vllm trtllm", "@qwen3-235b-a22b -tp 8 -ep --eplb-config.num_redundant_experts 16",
     "target.eplb_config.num_redundant_experts", "EPLB is not enabled",
     "@qwen3-235b-a22b -tp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 16"},
    {"D4", "vllm",
     "@deepseek-v3 -tp 4 -pp 2 -ep --enable-eplb --enable-elastic-ep --eplb-config.use_async false",
     "target.enable_elastic_ep", "pipeline parallelism (pipeline_parallel_size=2)",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --enable-elastic-ep --eplb-config.use_async false"},
    {"D5", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 33",
     "target.eplb_config.num_redundant_experts", "32 or 40",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.num_redundant_experts 40"},
    {"D8", "trtllm", "@qwen3-235b-a22b -tp 8 -ep --enable-eplb +draft_model,4,@qwen3-30b-a3b",
     "draft.enable_eplb", "not forwarded", "@deepseek-v3 -tp 8 -ep --enable-eplb +mtp,1"},
    {"D10", "outrider vllm trtllm", "@qwen3-8b -tp 8 --enable-eplb", "target.enable_eplb", "no MoE layers",
     "@qwen3-30b-a3b -tp 4 -ep --enable-eplb"},
    {"D10", "trtllm", "@kimi-k3 -tp 8 -ep --enable-eplb", "target.enable_eplb", "no effect",
     "@kimi-k2 -tp 8 -ep --enable-eplb"},
    {"D11", "vllm", "@gpt-oss-120b -tp 8 -ep --enable-eplb", "target.enable_eplb",
     "not supported for experts in format mxfp4", "@deepseek-v3 -tp 8 -ep --enable-eplb"},
    {"D13", "outrider vllm trtllm",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.communicator torch_nccl",
     "target.eplb_config.communicator", "torch_nccl",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.communicator torch_nccl --eplb-config.use_async "
     "false"},
    {"D19", "vllm trtllm", "@qwen3-32b -tp 8 -dp 2 +draft_model,4,@qwen3-30b-a3b",
     "draft.enable_expert_parallel", "draft is MoE, the target is dense",
     "@qwen3-32b -tp 4 +draft_model,4,@qwen3-30b-a3b"},
    {"D20", "outrider vllm", "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.step_interval 57",
     "target.eplb_config.step_interval", "58 MoE layers",
     "@deepseek-v3 -tp 8 -ep --enable-eplb --eplb-config.step_interval 58"},
    {"X2", "outrider vllm trtllm", "@qwen3-32b -tp 8 -ep", "target.enable_expert_parallel", "0 experts",
     "@qwen3-30b-a3b -tp 4 -ep"},
    {"E1", "vllm", "@kimi-k2 -tp 8 -pp 2 +eagle3,3,@eagle3-kimi-k2", "target.pipeline_parallel_size",
     "does not forward auxiliary hidden states", "@llama-3.1-8b -tp 4 -pp 2 +eagle3,3,@eagle3-llama-3.1-8b"},
    {"E1", "trtllm", "@deepseek-v3 -tp 8 -pp 2 +mtp,1", "target.pipeline_parallel_size",
     "pipeline_parallel_size=2", "@deepseek-v3 -tp 8 -pp 2"},
    {"E7", "vllm",
     "@deepseek-v4-flash-dspark -tp 8 -pp 2 --speculative-config "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":5,\"enable_adaptive_verification\":true}",
     "draft.enable_adaptive_verification", "pipeline",
     "@deepseek-v4-flash-dspark -tp 8 --speculative-config "
     "{\"method\":\"dspark\",\"num_speculative_tokens\":5,\"enable_adaptive_verification\":true}"},
    {"F1", "vllm", "@kimi-k3 -tp 8 -pp 2 --load-format instanttensor +dspark,7,@k3-dspark-mla",
     "draft.load_format", "collective over 16 ranks but the draft lives on 8",
     "@kimi-k3 -tp 8 --load-format instanttensor +dspark,7,@k3-dspark-mla"},
    {"F3", "vllm",
     "@kimi-k3 -tp 8 -pp 2 --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"fastsafetensors\"}}",
     "draft.load_format", "collective over 16 ranks but the draft lives on 8",
     "@kimi-k3 -tp 8 --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"fastsafetensors\"}}"},
    {"F5", "vllm",
     "@kimi-k3 -tp 8 --load-format tensorizer --speculative-config "
     "{\"method\":\"dspark\",\"model\":\"@k3-dspark-mla\",\"num_speculative_tokens\":7,\"draft_load_config\":"
     "{\"load_format\":\"tensorizer\"}}",
     "draft.load_format", "target's archive",
     "@kimi-k3 -tp 8 --load-format tensorizer +dspark,7,@k3-dspark-mla"},
    {"I1", "vllm",
     "@deepseek-v3 -dp 8 -ep --speculative-config "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"num_speculative_tokens_per_batch_size\":[[1,8,1]]}",
     "draft.num_speculative_tokens_per_batch_size", "data_parallel_size=8",
     "@deepseek-v3 -tp 8 -ep --speculative-config "
     "{\"method\":\"mtp\",\"num_speculative_tokens\":1,\"num_speculative_tokens_per_batch_size\":[[1,8,1]]}"},
    {"G2", "outrider vllm trtllm", "@deepseek-v3 -tp 8 --quantization awq", "target.quantization", "fp8",
     "@deepseek-v3 -tp 8 --quantization fp8"},
    {"G3", "vllm", "@qwen3.5-35b-a3b -tp 2 --moe-backend marlin", "target.moe_backend", "unquantized) MoE",
     "@qwen3.5-35b-a3b -tp 2 --moe-backend triton"},
    {"G4", "vllm", "@qwen3-8b --attention-backend FLASHMLA", "target.attention_backend", "per head",
     "@deepseek-v3 -tp 8 --attention-backend FLASHMLA"},
    {"G4", "vllm",
     "@kimi-k2 -tp 8 --speculative-config "
     "{\"method\":\"eagle3\",\"model\":\"@eagle3-kimi-k2\",\"num_speculative_tokens\":3,\"attention_"
     "backend\":\"TRITON_MLA\"}",
     "draft.attention_backend", "per head",
     "@kimi-k2 -tp 8 --attention-backend TRITON_MLA +eagle3,3,@eagle3-kimi-k2"},
    {"G5", "outrider vllm trtllm", "@qwen3-8b --kv-cache-dtype fp8_ds_mla", "target.kv_cache_dtype",
     "fp8_ds_mla", "@deepseek-v3 -tp 8 --kv-cache-dtype fp8_ds_mla"},
    {"X8", "vllm trtllm", "@deepseek-v3 -tp 8 --kv-cache-dtype nvfp4_4over6", "target.kv_cache_dtype",
     "not supported with MLA", "@qwen3-8b --kv-cache-dtype nvfp4"},
    {"H1", "outrider vllm trtllm", "@llama-3.1-8b +draft_model,4,@qwen3-0.6b", "draft.config.vocab_size",
     "128256", "@qwen3-32b +draft_model,4,@qwen3-0.6b"},
    {"H5", "outrider vllm trtllm", "@qwen3-4b +dspark,7,@dspark-qwen3-8b-block7", "draft.config.hidden_size",
     "2560", "@qwen3-8b +dspark,7,@dspark-qwen3-8b-block7"},
    {"H6", "trtllm", "@deepseek-v4-flash-dspark -tp 8 -ep +dspark,7", "draft.num_speculative_tokens",
     "block_size=5 but num_speculative_tokens=7", "@deepseek-v4-flash-dspark -tp 8 -ep +dspark,5"},
    {"H9", "outrider", "@qwen3.5-35b-a3b -tp 2 --hf-overrides {\"max_position_embeddings\":1000}",
     "target.hf_overrides", "max_position_embeddings",
     "@qwen3.5-35b-a3b -tp 2 --hf-overrides {\"text_config\":{\"max_position_embeddings\":1000}}"},
    {"CLI", "vllm",
     "@qwen3-8b --speculative-config "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":4,\"prompt_lookup_min\":5,\"prompt_lookup_max\":2}",
     "draft.prompt_lookup_min", "prompt_lookup_max=2",
     "@qwen3-8b --speculative-config "
     "{\"method\":\"ngram\",\"num_speculative_tokens\":4,\"prompt_lookup_min\":2,\"prompt_lookup_max\":5}"},
};

std::string placed(std::string text) {
  const std::string folder = OUTRIDER_TEST_DATA "/plan/configs/";
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += folder.size())
    text.replace(at, 1, folder);
  return text;
}

// "+method,tokens,model,draft ranks" -> --speculative-config JSON.
std::vector<std::string> drafter_words(const std::string& word) {
  std::vector<std::string> parts(1);
  for (const char c : word.substr(1)) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::string json = "{\"method\":\"" + parts[0] + "\",\"num_speculative_tokens\":" + parts[1];
  if (parts.size() > 2) json += ",\"model\":\"" + parts[2] + "\"";
  if (parts.size() > 3) json += ",\"draft_tensor_parallel_size\":" + parts[3];
  return {"--speculative-config", placed(json + "}")};
}

Json answer_of(const std::string& as, const std::string& line) {
  std::vector<std::string> words = {"--json", "--as", as};
  std::string left = line;
  while (!left.empty()) {
    const std::size_t blank = left.find(' ');
    const std::string word = left.substr(0, blank);
    left = blank == std::string::npos ? "" : left.substr(blank + 1);
    if (word.starts_with('+')) {
      for (std::string& part : drafter_words(word)) words.push_back(std::move(part));
    } else {
      words.push_back(placed(word));
    }
  }
  auto parsed = base::parse_json(answer_plan(words, {}).out, "answer");
  EXPECT_TRUE(parsed.ok()) << line;
  return std::move(parsed).value();
}

std::vector<std::string> engines_of(const Row& row) {
  std::vector<std::string> engines(1);
  for (const char c : std::string_view(row.as)) {
    if (c == ' ') {
      engines.emplace_back();
    } else {
      engines.back() += c;
    }
  }
  return engines;
}

const Json* find_problem(const Json& answer, const Row& row, bool by_words) {
  for (const Json& problem : *answer.find("problems")->array()) {
    if (*problem.find("rule")->string() != row.rule || *problem.find("field")->string() != row.field)
      continue;
    const std::string text = *problem.find("message")->string() + " " + *problem.find("remedy")->string();
    if (!by_words || text.find(row.says) != std::string::npos) return &problem;
  }
  return nullptr;
}

TEST(PlanRules, EachRefusesItsCaseWithItsFieldAndItsNumbers) {
  for (const Row& row : kRows) {
    for (const std::string& as : engines_of(row)) {
      // Under our own rules 0 drafts mean that nothing is drafted.
      if (as == "outrider" && std::string_view(row.breaks).find("ngram,0") != std::string_view::npos)
        continue;
      const Json answer = answer_of(as, row.breaks);
      EXPECT_EQ(*answer.find("verdict")->string(), "refuse") << row.rule << " " << as << " " << row.breaks;
      EXPECT_NE(find_problem(answer, row, true), nullptr)
          << row.rule << " " << as << " " << row.breaks << "\n"
          << answer.find("problems")->excerpt(1500);
    }
  }
}

TEST(PlanRules, EachLetsItsNearestNeighbourPass) {
  for (const Row& row : kRows) {
    for (const std::string& as : engines_of(row)) {
      const Json answer = answer_of(as, row.passes);
      const Json* problem = find_problem(answer, row, false);
      EXPECT_EQ(problem, nullptr) << row.rule << " " << as << " " << row.passes
                                  << (problem == nullptr ? "" : "\n" + problem->excerpt(500));
    }
  }
}

// Rows here, cases with files of their own in the snapshots: between them every rule that refuses is shown.
TEST(PlanRules, RulesThatOnlySnapshotsShowAreThese) {
  std::set<std::string> shown;
  for (const Row& row : kRows) shown.insert(row.rule);
  const std::set<std::string> elsewhere = {"P1", "P3",   "P20",  "P24",    "S12", "S13", "S15", "X14",
                                           "D6", "D16",  "D17",  "D18",    "E2",  "E3",  "H2",  "H4",
                                           "H7", "JSON", "YAML", "CONFIG", "F4",  "R1",  "R2",  "R3",
                                           "R4", "R5",   "R6",   "R7",     "R8",  "R9",  "MEM"};
  for (const plan::Rule* rule : plan::all_rules()) {
    if (rule->verdict != plan::Verdict::Refuse) continue;
    EXPECT_TRUE(shown.contains(std::string(rule->id)) || elsewhere.contains(std::string(rule->id)))
        << rule->id;
  }
}

}  // namespace
}  // namespace outrider::cli
