#include "checkpoint/families.h"

#include <algorithm>

#include "base/strings.h"
#include "checkpoint/families/qwen3.h"

namespace outrider::checkpoint {
namespace {

constexpr std::string_view kQwen3Types[] = {"qwen3"};
constexpr std::string_view kQwen3Classes[] = {"Qwen3ForCausalLM"};
constexpr std::string_view kQwen3MoeTypes[] = {"qwen3_moe"};
constexpr std::string_view kQwen3MoeClasses[] = {"Qwen3MoeForCausalLM"};

const Family kFamilies[] = {
    {.name = "qwen3",
     .model_types = kQwen3Types,
     .architectures = kQwen3Classes,
     .runs = true,
     .read = read_qwen3,
     .list_tensors = list_qwen3_tensors},
    {.name = "qwen3_moe",
     .model_types = kQwen3MoeTypes,
     .architectures = kQwen3MoeClasses,
     .runs = true,
     .read = read_qwen3_moe,
     .list_tensors = list_qwen3_tensors},
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
