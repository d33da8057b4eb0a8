// What a path holds, as far as it can be told: for `outrider inspect`. Unlike open_model it goes on after a
// fault, and it knows less than everything: what it does not know it says.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

struct FormatCount {
  std::int64_t tensors = 0, elements = 0, bytes = 0;
};

struct Inspection {
  std::string path;
  std::optional<Checkpoint> checkpoint;    // absent where the files were refused
  std::optional<base::Json> config;        // absent for a bare file, and where it was refused
  std::string model_type;                  // as the config says; may be empty
  std::vector<std::string> architectures;  // the same
  std::optional<ModelShape> model;         // at most one of the two
  std::optional<DrafterShape> drafter;
  std::map<tensor::Dtype, FormatCount> formats;
  std::int64_t parameters = 0;  // elements of floating types; tables of integers are none
  std::optional<std::int64_t>
      active_parameters;             // that one token's way touches, where the model is a mixture of experts
  std::vector<std::string> unknown;  // what could not be told, a sentence each
  std::vector<std::string> warnings;
  std::vector<base::Problem> problems;  // what would keep the engine from loading it
};

// A folder, a .safetensors file, an index or a config.json.
Inspection inspect(const std::string& path);

// "dspark" or "dflash"
std::string method_of(const DrafterShape& shape);
// "8 heads, 4 of keys and values, width 32"
std::string describe(const AttentionShape& shape);
// "16 experts of width 128, 4 a token"
std::string describe(const MlpShape& shape);

}  // namespace outrider::checkpoint
