#include "checkpoint/tensor_axes.h"

#include <iterator>

namespace outrider::checkpoint {
namespace {

struct Row {
  std::string_view inside;  // anywhere in the name
  std::string_view ending;
  std::string_view axes;
};

// The first row that fits counts.
constexpr Row kRows[] = {
    {"", "embed_tokens.weight", "[vocab_size, hidden_size]"},
    {"", "lm_head.weight", "[vocab_size or draft_vocab_size, hidden_size]"},
    {"", "q_proj.weight", "[num_attention_heads x head_dim, hidden_size]"},
    {"", "k_proj.weight", "[num_key_value_heads x head_dim, hidden_size]"},
    {"", "v_proj.weight", "[num_key_value_heads x head_dim, hidden_size]"},
    {"", "o_proj.weight", "[hidden_size, num_attention_heads x head_dim]"},
    {"", "q_proj.bias", "[num_attention_heads x head_dim]"},
    {"", "k_proj.bias", "[num_key_value_heads x head_dim]"},
    {"", "v_proj.bias", "[num_key_value_heads x head_dim]"},
    {"", "o_proj.bias", "[hidden_size]"},
    {"", "q_norm.weight", "[head_dim]"},
    {"", "k_norm.weight", "[head_dim]"},
    {"", "mlp.gate.weight", "[num_experts, hidden_size]"},
    {".experts.", "gate_proj.weight", "[moe_intermediate_size, hidden_size]"},
    {".experts.", "up_proj.weight", "[moe_intermediate_size, hidden_size]"},
    {".experts.", "down_proj.weight", "[hidden_size, moe_intermediate_size]"},
    {".mlp.", "gate_proj.weight", "[intermediate_size, hidden_size]"},
    {".mlp.", "up_proj.weight", "[intermediate_size, hidden_size]"},
    {".mlp.", "down_proj.weight", "[hidden_size, intermediate_size]"},
    {"", "fc.weight", "[hidden_size, taps x hidden_size]"},
    {"", "markov_w1.weight", "[vocab_size, markov_rank]"},
    {"", "markov_w2.weight", "[draft_vocab_size or vocab_size, markov_rank]"},
    {"", "markov_head.gate_proj.weight", "[markov_rank, hidden_size + markov_rank]"},
    {"", "markov_head.joint_proj.weight", "[3 x markov_rank, 2 x markov_rank + hidden_size]"},
    {"", "confidence_head.proj.weight",
     "[1, hidden_size + markov_rank], without Markov features [1, hidden_size]"},
    {"", "d2t", "[draft_vocab_size]"},
    {"", "t2d", "[vocab_size]"},
    {"", "norm.weight", "[hidden_size]"},
};

}  // namespace

std::string tensor_axes(std::string_view name) {
  for (const Row& row : kRows) {
    const bool fits = name.ends_with(row.ending) && name.find(row.inside) != std::string_view::npos;
    if (fits) return std::string(row.axes);
  }
  return "";
}

}  // namespace outrider::checkpoint
