// The table of families: one row each (name, builder). A family is one file under families/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/tensor_source.h"
#include "model/model.h"
#include "model/weights.h"

namespace outrider::model {

struct ModelOptions {
  std::int64_t position_count;  // rotary tables reach so far: the longest sequence, draft rows included
  LoadOptions load;
};

// Refused where the engine has no such family, or a layer of it is of a kind that the family does not run.
base::Result<std::unique_ptr<Model>> load_model(kernels::Executor& executor,
                                                const checkpoint::ModelShape& shape,
                                                const checkpoint::TensorSource& source,
                                                const ModelOptions& options);

// The names of the families that the engine runs.
std::vector<std::string> family_names();

}  // namespace outrider::model
