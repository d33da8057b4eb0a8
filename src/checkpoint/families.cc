#include "checkpoint/families.h"

#include <algorithm>

#include "base/strings.h"
#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"

namespace outrider::checkpoint {
namespace {

constexpr std::string_view kQwen3[] = {"qwen3"};
constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM"};
constexpr std::string_view kQwen3Moe[] = {"qwen3_moe"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};
constexpr std::string_view kQwen35[] = {"qwen3_5", "qwen3_5_text"};
constexpr std::string_view kQwen35Classes[] = {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"};
constexpr std::string_view kQwen35Moe[] = {"qwen3_5_moe", "qwen3_5_moe_text"};
constexpr std::string_view kQwen35MoeClasses[] = {"Qwen3_5MoeForConditionalGeneration",
                                                  "Qwen3_5MoeForCausalLM"};
constexpr std::string_view kLlama[] = {"llama"};
constexpr std::string_view kLlamaClasses[] = {"LlamaForCausalLM"};
constexpr std::string_view kGptOss[] = {"gpt_oss"};
constexpr std::string_view kGptOssClasses[] = {"GptOssForCausalLM"};
constexpr std::string_view kGemma4[] = {"gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text"};
constexpr std::string_view kGemma4Classes[] = {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM",
                                               "Gemma4UnifiedForConditionalGeneration",
                                               "Gemma4UnifiedForCausalLM"};
constexpr std::string_view kDeepseekV3[] = {"deepseek_v3", "kimi_k2", "kimi_k25", "deepseek_v32"};
constexpr std::string_view kDeepseekV3Classes[] = {"DeepseekV3ForCausalLM", "KimiK2ForCausalLM",
                                                   "KimiK25ForConditionalGeneration",
                                                   "DeepseekV32ForCausalLM"};
constexpr std::string_view kGlmDsa[] = {"glm_moe_dsa"};
constexpr std::string_view kGlmDsaClasses[] = {"GlmMoeDsaForCausalLM"};
constexpr std::string_view kDeepseekV4[] = {"deepseek_v4"};
constexpr std::string_view kDeepseekV4Classes[] = {"DeepseekV4ForCausalLM"};
constexpr std::string_view kDeepseekV41[] = {"deepseek_v41", "deepseek_v41_text"};
constexpr std::string_view kDeepseekV41Classes[] = {"DeepseekV41ForCausalLM",
                                                    "DeepseekV41ForConditionalGeneration"};
constexpr std::string_view kKimiK3[] = {"kimi_k3", "kimi_linear"};
constexpr std::string_view kKimiK3Classes[] = {"KimiK3ForConditionalGeneration", "KimiK3ForCausalLM"};

// Families that run come first: messages list them in this order.
const Family kFamilies[] = {
    {"qwen3", kQwen3, kQwen3Classes, true, read_qwen3, list_qwen3_tensors},
    {"qwen3_moe", kQwen3Moe, kQwen3MoeClasses, true, read_qwen3_moe, list_qwen3_tensors},
    {"qwen3_5", kQwen35, kQwen35Classes, false, read_qwen3_5, list_qwen3_5_tensors},
    {"qwen3_5_moe", kQwen35Moe, kQwen35MoeClasses, false, read_qwen3_5, list_qwen3_5_tensors},
    {"llama", kLlama, kLlamaClasses, false, read_llama, list_llama_tensors},
    {"gpt_oss", kGptOss, kGptOssClasses, false, read_gpt_oss, list_gpt_oss_tensors},
    {"gemma4", kGemma4, kGemma4Classes, false, read_gemma4, list_gemma4_tensors},
    {"deepseek_v3", kDeepseekV3, kDeepseekV3Classes, false, read_deepseek_v3, list_deepseek_v3_tensors},
    {"glm_moe_dsa", kGlmDsa, kGlmDsaClasses, false, read_deepseek_v3, list_deepseek_v3_tensors},
    {"deepseek_v4", kDeepseekV4, kDeepseekV4Classes, false, read_deepseek_v4, list_deepseek_v4_tensors},
    {"deepseek_v41", kDeepseekV41, kDeepseekV41Classes, false, read_deepseek_v41, list_deepseek_v4_tensors},
    {"kimi_k3", kKimiK3, kKimiK3Classes, false, read_kimi_k3, list_kimi_k3_tensors},
};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Family* family_by(std::span<const std::string_view> Family::*list, std::string_view name,
                        bool runnable_only) {
  for (const Family& family : kFamilies) {
    if ((family.runs || !runnable_only) && holds(family.*list, name)) return &family;
  }
  return nullptr;
}

std::string known(std::span<const std::string_view> Family::*list, bool runnable_only) {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) {
    if (!family.runs && runnable_only) continue;
    for (const std::string_view name : family.*list) names.emplace_back(name);
  }
  return base::list_names(names, 100);
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

const Family* identify_family(const ConfigReader& outer, bool runnable_only) {
  const std::optional<std::string> type = outer.text_if("model_type");
  const std::optional<std::vector<std::string>> classes = outer.texts_if("architectures");
  const bool has_class = classes && !classes->empty();
  if (!outer.has("model_type") && !has_class && (classes || !outer.has("architectures"))) {
    outer.report("architectures", "is missing, and so is model_type: nothing says what this model is",
                 "known architectures: " + known(&Family::architectures, runnable_only));
    return nullptr;
  }
  const Family* by_type = type ? family_by(&Family::model_types, *type, runnable_only) : nullptr;
  if (type && by_type == nullptr) {
    outer.report("model_type", "is unknown; known are " + known(&Family::model_types, runnable_only));
  }
  const Family* by_class = nullptr;
  if (has_class) {
    by_class = family_by(&Family::architectures, classes->front(), runnable_only);
    if (by_class == nullptr) {
      outer.report("architectures", "is unknown; known are " + known(&Family::architectures, runnable_only));
    }
  }
  if (by_type != nullptr && by_class != nullptr && by_type != by_class) {
    outer.report("architectures", "belongs to another family than model_type = " + *type);
  }
  return by_type != nullptr ? by_type : by_class;
}

ConfigReader text_settings(const ConfigReader& outer) {
  if (!outer.has("text_config")) return outer;
  return outer.object_if("text_config").value_or(outer);
}

std::vector<TensorGroup> list_tensors(const ModelShape& shape) {
  const Family* family = find_family(shape.family);
  OUTRIDER_CHECK(family != nullptr);
  TensorLister lister(shape.weight_dtype);
  family->list_tensors(shape, lister);
  return std::move(lister).take();
}

}  // namespace outrider::checkpoint
