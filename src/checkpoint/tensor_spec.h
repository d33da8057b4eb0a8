// One tensor that a model of some shape holds. A list of them is what a family promises about its files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace outrider::checkpoint {

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  std::optional<tensor::Dtype> dtype;  // absent: any of F32, F16, BF16
  bool optional = false;               // may be absent (a redundant tied head)
  std::string axes = {};  // the config's keys behind the shape, for messages: "[vocab_size, hidden_size]"
};

}  // namespace outrider::checkpoint
