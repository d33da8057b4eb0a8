// Llama 2, 3, 3.1, 3.2 (text), as transformers' llama reads and publishes them.
#include <array>

#include "checkpoint/families/qwen3.h"
#include "checkpoint/families/readers.h"
#include "checkpoint/shape_parts.h"

namespace outrider::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> kRopeKinds = {"default", "yarn", "llama3"};
constexpr std::array<std::string_view, 1> kActivations = {"silu"};

}  // namespace

ModelShape read_llama(const ConfigReader& text, const ConfigReader& outer) {
  ModelShape shape = read_body(text, outer, "llama", kRopeKinds);
  text.choice_if("hidden_act", kActivations);
  text.require(!text.flag("mlp_bias", false), "mlp_bias", "must be false: biases of the MLP are not read");
  GroupedAttention attention{.heads = text.count("num_attention_heads", kHeadsMax),
                             .kv_heads = 1,
                             .head_width = 1,
                             .bias = text.flag("attention_bias", false),
                             .qk_norm = false};
  const auto kv_heads = text.integer_if("num_key_value_heads", 1, kHeadsMax);  // absent: one each
  attention.kv_heads = static_cast<int>(kv_heads.value_or(attention.heads));
  check_head_counts(text, attention.heads, attention.kv_heads);
  const std::optional<std::int64_t> head_width = text.integer_if("head_dim", 1, kWidthMax);
  text.require(text.has("head_dim") || shape.hidden_width % attention.heads == 0, "num_attention_heads",
               "must divide hidden_size where head_dim is absent");
  attention.head_width =
      static_cast<int>(head_width.value_or(std::max<std::int64_t>(shape.hidden_width / attention.heads, 1)));
  const int layer_count = text.count("num_hidden_layers", kLayersMax);
  const DenseMlp mlp{.width = text.integer("intermediate_size", 1, kVocabularyMax)};
  shape.layers.assign(static_cast<std::size_t>(layer_count), {.attention = attention, .mlp = mlp});
  return shape;
}

// Names and order are Qwen3's; what differs (norms, biases) stands in the shape.
void list_llama_tensors(const ModelShape& shape, TensorLister& lister) { list_qwen3_tensors(shape, lister); }

}  // namespace outrider::checkpoint
