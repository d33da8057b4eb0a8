// What a tensor's dimensions are in the words of config.json, so that a tensor that does not fit names the
// key that it contradicts.
#pragma once

#include <string>
#include <string_view>

namespace outrider::checkpoint {

// "[vocab_size, hidden_size]" for "model.embed_tokens.weight"; empty where the name says nothing.
std::string tensor_axes(std::string_view name);

}  // namespace outrider::checkpoint
