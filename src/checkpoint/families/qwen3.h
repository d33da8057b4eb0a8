// Qwen3 dense and Qwen3-MoE, as transformers' qwen3 and qwen3_moe read and publish them.
#pragma once

#include "checkpoint/config_reader.h"
#include "checkpoint/model_shape.h"
#include "checkpoint/tensor_list.h"

namespace outrider::checkpoint {

ModelShape read_qwen3(const ConfigReader& text, const ConfigReader& outer);
ModelShape read_qwen3_moe(const ConfigReader& text, const ConfigReader& outer);
void list_qwen3_tensors(const ModelShape& shape, TensorLister& lister);

// Parts that drafters of these families share. The body has no layers yet.
ModelShape read_qwen3_body(const ConfigReader& text, const ConfigReader& outer, std::string family);
// `head_width_default`: what an absent head_dim means; without one, hidden / heads.
GroupedAttention read_qwen3_attention(const ConfigReader& text,
                                      std::optional<std::int64_t> head_width_default);
// "sliding_window" where "use_sliding_window" asks for it.
std::optional<std::int64_t> read_sliding_window(const ConfigReader& text);
// One entry a layer, from "layer_types", or from max_window_layers on.
std::vector<std::optional<std::int64_t>> read_layer_windows(const ConfigReader& text, int layer_count);

// Shared with families of the same build: q, k, v, o with biases and norms; the three matrices of an MLP.
void list_grouped_attention(const GroupedAttention& attention, std::int64_t hidden_width,
                            const std::string& prefix, const LinearFormat& format, TensorLister& lister,
                            std::int64_t input_width);
void list_dense_mlp(std::int64_t width, std::int64_t hidden_width, const std::string& prefix,
                    const LinearFormat& format, TensorLister& lister);
void list_routed_experts(const MoeMlp& moe, std::int64_t hidden_width, const std::string& prefix,
                         const LinearFormat& format, TensorLister& lister);

}  // namespace outrider::checkpoint
