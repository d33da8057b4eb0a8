#include "bench/work.h"

#include <algorithm>

namespace outrider::bench {
namespace {

const checkpoint::GroupedAttention* grouped(const checkpoint::LayerShape& layer) {
  return std::get_if<checkpoint::GroupedAttention>(&layer.attention);
}

}  // namespace

double layer_operations(const checkpoint::ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden_width);
  double weights = 0;
  for (const checkpoint::LayerShape& layer : shape.layers) {
    if (const auto* attention = grouped(layer)) {
      weights += hidden * attention->head_width * (2.0 * attention->heads + 2.0 * attention->kv_heads);
    }
    if (const auto* dense = std::get_if<checkpoint::DenseMlp>(&layer.mlp)) {
      weights += 3 * hidden * static_cast<double>(dense->width);
    }
    if (const auto* moe = std::get_if<checkpoint::MoeMlp>(&layer.mlp)) {
      weights +=
          hidden * (moe->experts + 3.0 * moe->experts_per_token * static_cast<double>(moe->expert_width));
    }
  }
  return 2 * weights;
}

double attention_operations(const checkpoint::ModelShape& shape, std::int64_t count) {
  double operations = 0;
  for (const checkpoint::LayerShape& layer : shape.layers) {
    const auto* attention = grouped(layer);
    if (attention == nullptr) continue;
    const auto n = static_cast<double>(count);
    operations += 4.0 * attention->heads * attention->head_width * (n * (n + 1) / 2);
  }
  return operations;
}

MoeCounts count_moe(const checkpoint::ModelShape& shape) {
  MoeCounts counts;
  for (const checkpoint::LayerShape& layer : shape.layers) {
    const auto* moe = std::get_if<checkpoint::MoeMlp>(&layer.mlp);
    if (moe == nullptr) continue;
    ++counts.layers;
    counts.experts = moe->experts;
    counts.experts_per_token = moe->experts_per_token;
  }
  return counts;
}

}  // namespace outrider::bench
