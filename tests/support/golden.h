// Golden data: what independent implementations computed (tests/data/*/README.md says which and how).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "tensor/buffer.h"

namespace outrider::testing {

std::string data_path(const std::string& relative);   // tests/data/...
std::string model_path(const std::string& relative);  // models/...

base::Json read_json(const std::string& path);
const base::Json& at(const base::Json& object, const std::string& key);
std::int64_t integer_at(const base::Json& object, const std::string& key);
std::vector<base::TokenId> ids_of(const base::Json& array);
std::vector<float> floats_of(const base::Json& array);

// Tensors of a golden.safetensors.
class GoldenTensors {
 public:
  explicit GoldenTensors(const std::string& path);
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  tensor::Matrix floats(const std::string& name) const;  // a vector is one row
  std::vector<std::int32_t> integers(const std::string& name) const;

 private:
  checkpoint::Checkpoint file_;
};

// Largest absolute difference; a shape that differs is a failure.
float largest_difference(tensor::MatrixView<const float> ours, tensor::MatrixView<const float> golden);

}  // namespace outrider::testing
