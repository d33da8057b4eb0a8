// config.json -> shapes: the only place that knows Hugging Face's key names. Every fault of a file is listed,
// with key, value and rule. Pure: reads no files. `source` names the config in messages.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"
#include "checkpoint/tensor_spec.h"

namespace outrider::checkpoint {

// A target of a family that the engine runs: qwen3, qwen3_moe.
base::Result<ModelShape> parse_model_shape(const base::Json& config, const std::string& source);

// A drafter; `tensor_names` (sorted; of its file) tell formats and optional parts apart where keys do not.
// `target_layer_count` gives z-lab's default taps.
base::Result<DrafterShape> parse_drafter_shape(const base::Json& config, const std::string& source,
                                               const std::vector<std::string>& tensor_names,
                                               int target_layer_count);

// Which of the two a config is: true for a drafter's (decided by keys, not by class name).
bool is_drafter_config(const base::Json& config);

// Every tensor that a model of this shape holds.
std::vector<TensorSpec> expected_tensors(const ModelShape& shape);
std::vector<TensorSpec> expected_tensors(const DrafterShape& shape);

}  // namespace outrider::checkpoint
