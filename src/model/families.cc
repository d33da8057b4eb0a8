#include "model/families.h"

#include <array>

#include "base/strings.h"
#include "model/families/qwen3.h"

namespace outrider::model {
namespace {

struct FamilyRow {
  std::string_view name;
  base::Result<std::unique_ptr<Model>> (*load)(kernels::Executor&, const checkpoint::ModelShape&,
                                               const checkpoint::TensorSource&, const ModelOptions&);
};

constexpr std::array kFamilies = {
    FamilyRow{"qwen3", load_qwen3},
    FamilyRow{"qwen3_moe", load_qwen3},  // the same file: layers are dense or MoE one by one
};

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const FamilyRow& row : kFamilies) names.emplace_back(row.name);
  return names;
}

base::Result<std::unique_ptr<Model>> load_model(kernels::Executor& executor,
                                                const checkpoint::ModelShape& shape,
                                                const checkpoint::TensorSource& source,
                                                const ModelOptions& options) {
  for (const FamilyRow& row : kFamilies) {
    if (row.name == shape.family) return row.load(executor, shape, source, options);
  }
  return base::refuse({.field = "model_type",
                       .found = shape.family,
                       .rule = "this engine runs " + base::list_names(family_names()),
                       .remedy = ""});
}

std::vector<cache::LayerCache> derive_cache_layers(const checkpoint::ModelShape& shape) {
  std::vector<cache::LayerCache> layers;
  for (const checkpoint::LayerShape& layer : shape.layers) {
    const auto* attention = std::get_if<checkpoint::GroupedAttention>(&layer.attention);
    OUTRIDER_CHECK_MSG(attention != nullptr, "a loaded model has grouped attention only");
    layers.push_back({.kv_heads = attention->kv_heads, .head_width = attention->head_width});
  }
  return layers;
}

}  // namespace outrider::model
