// Fuzzes what reads a config.json. An input is a whole file, or a digit and a JSON merge patch over one of
// the healthy files below, so that the fuzzer starts where a config is understood. Accepted shapes must be
// within what an engine could build.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "checkpoint/hf_config.h"

namespace outrider {
namespace {

using base::Json;
using checkpoint::LayerShape;

const std::array<Json, 6>& healthy_files() {
  static const std::array<Json, 6> files = [] {
    constexpr std::array kPaths = {
        "hostile/config/base_qwen3",           "hostile/config/base_qwen3_moe",
        "dspark/ds_vanilla_g7/drafter",        "dspark/sp_gated_b7_sliding/drafter",
        "dflash/zlab_b4_default_taps/drafter", "dspark/sp_vanilla_b7_reduced/drafter"};
    std::array<Json, 6> trees;
    for (std::size_t i = 0; i < kPaths.size(); ++i) {
      const auto text =
          base::read_text_file(std::string(OUTRIDER_TEST_DATA "/") + kPaths[i] + "/config.json");
      OUTRIDER_CHECK(text.ok());
      trees[i] = base::parse_json(*text, "config.json").value();
    }
    return trees;
  }();
  return files;
}

void check_model(const checkpoint::ModelShape& shape) {
  OUTRIDER_CHECK(!shape.layers.empty() && shape.hidden_width > 0 && shape.vocabulary > 0 &&
                 shape.norm_epsilon > 0);
  OUTRIDER_CHECK(shape.rope.theta > 0 && shape.positions_max > 0);
  std::int64_t experts = 0;
  for (const LayerShape& layer : shape.layers) {
    if (const auto* attention = std::get_if<checkpoint::GroupedAttention>(&layer.attention)) {
      OUTRIDER_CHECK(attention->kv_heads > 0 && attention->heads % attention->kv_heads == 0 &&
                     attention->head_width > 0);
    }
    if (const auto* moe = std::get_if<checkpoint::MoeMlp>(&layer.mlp)) {
      OUTRIDER_CHECK(moe->experts_per_token > 0 && moe->experts_per_token <= moe->experts);
      experts += moe->experts;
    }
  }
  for (const std::int32_t id : shape.end_token_ids) OUTRIDER_CHECK(id >= 0 && id < shape.vocabulary);
  if (experts > 10'000) return;  // a list of a million names takes its time and tells nothing new
  for (const checkpoint::TensorSpec& spec : checkpoint::expected_tensors(shape)) {
    for (const std::int64_t dimension : spec.shape) OUTRIDER_CHECK(dimension > 0);
  }
}

void check_drafter(const checkpoint::DrafterShape& shape) {
  check_model(shape.backbone);
  OUTRIDER_CHECK(shape.block_size > 0 && shape.drafts_per_block() > 0 && !shape.taps.empty());
  OUTRIDER_CHECK(shape.mask_token >= 0 && shape.mask_token < shape.backbone.vocabulary);
  OUTRIDER_CHECK(shape.layer_masks.size() == shape.backbone.layers.size());
  for (const checkpoint::TensorSpec& spec : checkpoint::expected_tensors(shape)) {
    for (const std::int64_t dimension : spec.shape) OUTRIDER_CHECK(dimension > 0);
  }
}

}  // namespace
}  // namespace outrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outrider;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool is_patch = !input.empty() && input[0] >= '0' && input[0] <= '5';
  const std::size_t base_index = is_patch ? static_cast<std::size_t>(input[0] - '0') : 0;
  if (is_patch) input.remove_prefix(1);
  const auto parsed = base::parse_json(input, "config.json");
  if (!parsed.ok()) {
    OUTRIDER_CHECK(!parsed.error().problems.empty());
    return 0;
  }
  Json config = is_patch ? healthy_files()[base_index] : *parsed;
  if (is_patch) base::apply_merge_patch(config, *parsed);
  const auto model = checkpoint::parse_model_shape(config, "config.json");
  if (model.ok()) check_model(*model);
  const bool is_drafter = checkpoint::is_drafter_config(config);
  const std::vector<std::string> names = {"embed_tokens.weight", "lm_head.weight"};
  for (const int layers : {0, 6}) {
    const auto drafter = checkpoint::parse_drafter_shape(
        config, "config.json", layers == 0 ? std::vector<std::string>() : names, layers);
    OUTRIDER_CHECK(!drafter.ok() || is_drafter);
    if (drafter.ok()) check_drafter(*drafter);
  }
  return 0;
}
