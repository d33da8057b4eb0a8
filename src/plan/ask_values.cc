#include "plan/ask_values.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace outrider::plan {
namespace {

struct WordRow {
  std::string_view field;
  Engines engines;
  std::string_view words;  // separated by blanks
  Uses uses = kEveryUse;
};

constexpr WordRow kWords[] = {
    {"dcp_comm_backend", kAllEngines, "ag_rs a2a"},
    {"expert_placement_strategy", kAllEngines, "linear round_robin"},
    {"load_format", kOutriderOnly, "auto mmap dummy collective", kPlanOnly},
    {"load_format", kOutriderOnly, "auto mmap dummy", kAllButPlan},
    {"load_format", kVllmOnly,
     "auto hf pt safetensors npcache dummy tensorizer runai_streamer runai_streamer_sharded sharded_state "
     "fastsafetensors instanttensor mistral modelexpress ipc_cache bitsandbytes gguf"},
    {"load_format", kTrtllmOnly, "auto dummy mmap collective safetensors fastsafetensors"},
    {"dtype", kAllEngines, "auto float16 half bfloat16 float32 float", kPlanOnly},
    {"dtype", kOutriderOnly, "auto float32 bfloat16", kAllButPlan},
    {"quantization", kOutriderOnly, "int8 int4", kAllButPlan},
    {"kernel_target", kOutriderOnly, "reference avx2 avx512"},
    {"run_method", kOutriderOnly, "dspark dflash ngram", kAllButPlan},
    {"kv_cache_dtype", kOutriderOnly, "auto float32 bfloat16", kAllButPlan},
    {"kv_cache_dtype", kOutriderOnly, "auto float16 bfloat16 float32 fp8 fp8_e4m3 fp8_e5m2 fp8_ds_mla",
     kPlanOnly},
    {"kv_cache_dtype", kOthers,
     "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla nvfp4 nvfp4_4over6 nvfp4_ds_mla "
     "int4_per_token_head int8_per_token_head fp8_per_token_head turboquant_k8v4 turboquant_4bit_nc "
     "turboquant_k3v4_nc turboquant_3bit_nc"},
    {"all2all_backend", kOthers,
     "naive pplx deepep_high_throughput deepep_low_latency deepep_v2 allgather_reducescatter "
     "mori_high_throughput mori_low_latency nixl_ep flashinfer_all2allv flashinfer_nvlink_one_sided "
     "flashinfer_nvlink_two_sided"},
    {"distributed_executor_backend", kOthers, "auto mp ray uni external_launcher"},
    {"moe_backend", kOthers,
     "auto triton batched_triton deep_gemm deep_gemm_mega_moe cutlass flashinfer_trtllm flashinfer_cutlass "
     "flashinfer_cutedsl flashinfer_b12x marlin humming triton_unfused aiter flydsl hpc emulation"},
    {"linear_backend", kOthers,
     "auto cutlass flashinfer_cutlass flashinfer_cutedsl flashinfer_trtllm flashinfer_cudnn flashinfer_b12x "
     "b12x marlin humming triton deep_gemm torch aiter machete fbgemm conch exllama emulation xpu xpu_woq"},
    {"attention_backend", kVllmOnly,
     "auto FLASH_ATTN FLASH_ATTN_DIFFKV TRITON_ATTN TRITON_ATTN_DIFFKV ROCM_ATTN ROCM_AITER_MLA "
     "ROCM_AITER_TRITON_MLA ROCM_AITER_FA ROCM_AITER_MLA_SPARSE ROCM_AITER_UNIFIED_ATTN XPU_MLA_SPARSE "
     "TORCH_SDPA FLASHINFER FLASHINFER_MLA TOKENSPEED_MLA FLASHINFER_MLA_SPARSE FLASHINFER_MLA_SPARSE_SM120 "
     "FLASHINFER_MLA_SPARSE_DSV4 TRITON_MLA CUTLASS_MLA FLASHMLA FLASHMLA_SPARSE FLASHMLA_SPARSE_DSV4 "
     "ROCM_FLASHMLA_SPARSE_DSV4 FLASH_ATTN_MLA FLASH_ATTN_MLA_SPARSE MINIMAX_M3_SPARSE CUTLASS_MSA "
     "TRITON_MSA NO_ATTENTION FLEX_ATTENTION HPC_ATTN CPU_ATTN TREE_ATTN CUSTOM"},
    {"quantization", kVllmOnly,
     "awq auto_awq fp8 fbgemm_fp8 fp_quant modelopt modelopt_fp4 modelopt_mxfp8 modelopt_mixed auto_gptq "
     "gptq "
     "gptq_marlin awq_marlin humming compressed-tensors experts_int8 quark moe_wna16 torchao inc mxfp4 "
     "gpt_oss_mxfp4 deepseek_v4_fp8 online fp8_per_tensor fp8_per_block fp8_per_channel "
     "int8_per_channel_weight_only nvfp4_per_token mxfp8 bitsandbytes gguf"},
    {"communicator", kAllEngines, "torch_nccl torch_gloo nixl pynccl"},
    {"policy", kAllEngines, "default"},
    {"draft_sample_method", kAllEngines, "greedy probabilistic"},
    {"rejection_sample_method", kOutriderOnly, "standard drafter_invariant synthetic", kAllButGenerate},
    {"rejection_sample_method", kOutriderOnly, "standard drafter_invariant", kGenerating},
    {"rejection_sample_method", kOthers, "standard block synthetic strict probabilistic"},
};

}  // namespace

std::vector<std::string_view> words_of(std::string_view field, Engine engine, Use use) {
  std::vector<std::string_view> words;
  for (const WordRow& row : kWords) {
    if (row.field != field || !row.engines.has(engine) || !row.uses.has(use)) continue;
    std::string_view left = row.words;
    while (!left.empty()) {
      const std::size_t blank = left.find(' ');
      words.push_back(left.substr(0, blank));
      left = blank == std::string_view::npos ? std::string_view() : left.substr(blank + 1);
    }
  }
  return words;
}

std::string spelled(std::string_view field, const std::string& typed, Engine engine) {
  const bool kernel = field == "moe_backend" || field == "linear_backend";
  const bool attention = field == "attention_backend";
  if (engine == Engine::Outrider || (!kernel && !attention)) return typed;
  std::string word = typed;
  for (char& c : word) {
    if (kernel && c == '-') c = '_';
    if (kernel && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (attention && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return word == "AUTO" ? "auto" : word;
}

std::string nearest_of(std::string_view unknown, const std::vector<std::string_view>& names) {
  std::string nearest;
  std::size_t distance = std::max<std::size_t>(3, unknown.size() / 3 + 1);
  for (const std::string_view name : names) {
    const std::size_t d = base::edit_distance(unknown, name);
    if (d < distance) {
      distance = d;
      nearest = name;
    }
  }
  return nearest;
}

std::optional<Problem> word_problem(std::string_view field_name, std::string_view printed_field,
                                    const std::string& value, Engine engine, Use use) {
  const std::vector<std::string_view> words = words_of(field_name, engine, use);
  if (words.empty() || std::find(words.begin(), words.end(), value) != words.end()) return std::nullopt;
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  const std::string near = nearest_of(value, words);
  const auto known_to = [&](Engine other, Use purpose) {
    const auto theirs = words_of(field_name, other, purpose);
    return std::find(theirs.begin(), theirs.end(), value) != theirs.end();
  };
  const bool elsewhere = std::any_of(kEngines.begin(), kEngines.end(), [&](const EngineRow& other) {
    return other.engine != engine && known_to(other.engine, Use::Plan);
  });
  std::string_view where = elsewhere ? ", though another engine does" : "";
  if (use != Use::Plan && known_to(engine, Use::Bench)) {
    where = ", though bench does: it is for measuring, and its text is worthless";
  } else if (use != Use::Plan && known_to(engine, Use::Plan)) {
    where = ", though it can be planned";
  }
  const std::string who =
      use == Use::Plan ? std::string(row_of(engine).title) : "outrider " + std::string(name_of(use));
  const std::string shown = base::printable(value);
  return Problem{.rule = "CLI",
                 .field = std::string(printed_field),
                 .value = shown,
                 .message = std::string(printed_field) + "=" + shown + " is not a value that " + who +
                            " has" + std::string(where),
                 .remedy = near.empty() ? "one of " + all : "did you mean " + near + "? All: " + all,
                 .reference = ""};
}

bool assign(std::optional<bool>& member, const Json& value, bool loose) {
  if (value.is_null()) return true;
  if (value.boolean() != nullptr) {
    member = *value.boolean();
    return true;
  }
  const std::string* text = value.string();
  if (!loose || text == nullptr ||
      (*text != "true" && *text != "True" && *text != "false" && *text != "False"))
    return false;
  member = text->front() == 't' || text->front() == 'T';
  return true;
}

bool assign(std::optional<std::int64_t>& member, const Json& value, bool) {
  if (value.is_null()) return true;
  if (value.integer() == nullptr) return false;
  member = *value.integer();
  return true;
}

bool assign(std::optional<double>& member, const Json& value, bool) {
  if (value.is_null()) return true;
  if (!value.number() || !std::isfinite(*value.number())) return false;
  member = *value.number();
  return true;
}

bool assign(std::optional<std::string>& member, const Json& value, bool loose) {
  if (value.is_null()) return true;
  if (value.string() != nullptr) {
    member = *value.string();
    return true;
  }
  if (!loose || value.array() != nullptr || value.object() != nullptr) return false;
  member = value.excerpt(4096);
  return true;
}

bool assign(std::optional<Json>& member, const Json& value, bool) {
  if (value.is_null()) return true;
  if (value.object() == nullptr && value.array() == nullptr) return false;
  member = value;
  return true;
}

}  // namespace outrider::plan
