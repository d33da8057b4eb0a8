// Parts of a config that families spell alike: rotary embedding, element type, end tokens, layer kinds.
// Faults go to the reader's inspector; stand-ins are returned.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/config_reader.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

// "rope_theta" and "rope_scaling" (transformers 4), or "rope_parameters" (transformers 5). `kinds`: the rope
// types that the family knows, of "default", "yarn", "llama3". `theta_default`: what an absent theta means;
// without one it is required.
RopeShape read_rope(const ConfigReader& reader, std::int64_t positions_max,
                    std::span<const std::string_view> kinds,
                    std::optional<double> theta_default = std::nullopt);

// One object of rope settings, such as a value of Gemma's rope_parameters. `key` names it in messages.
RopeShape read_rope_object(const ConfigReader& settings, std::optional<double> outer_theta,
                           std::int64_t positions_max, std::span<const std::string_view> kinds);

// "torch_dtype" or "dtype", of `reader` or else of `outer`. Absent: bfloat16, in which all of these families
// are published.
tensor::Dtype read_dtype(const ConfigReader& reader, const ConfigReader& outer);

// What every family spells alike: widths, vocabulary, positions, epsilon, tie, rope, dtype, end tokens. No
// layers yet.
ModelShape read_body(const ConfigReader& text, const ConfigReader& outer, std::string family,
                     std::span<const std::string_view> rope_kinds);

// "max_position_embeddings".
std::int64_t read_positions(const ConfigReader& reader);

// "eos_token_id": absent, one id, or a list; within the vocabulary.
std::vector<std::int32_t> read_end_tokens(const ConfigReader& reader, std::int64_t vocabulary);

// "layer_types": one of `allowed` per layer, as indexes; absent gives nothing.
std::optional<std::vector<std::size_t>> read_layer_types(const ConfigReader& reader, int layer_count,
                                                         std::span<const std::string_view> allowed);

// heads % kv_heads == 0.
void check_head_counts(const ConfigReader& reader, int heads, int kv_heads);

// No more experts a token than there are.
void check_chosen_experts(const ConfigReader& reader, std::string_view key, std::string_view experts_key,
                          int chosen, int experts);
// layers x experts within bounds.
void check_expert_tensors(const ConfigReader& reader, std::string_view experts_key, std::int64_t layers,
                          std::int64_t experts);

// "quantization_config" of `reader` or else `outer`: fp8 in blocks, and compressed-tensors' packed experts.
// Other methods are named, with sizes not known. Absent: nothing.
std::optional<Quantisation> read_quantisation(const ConfigReader& reader, const ConfigReader& outer);

}  // namespace outrider::checkpoint
