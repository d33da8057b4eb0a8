// A folder -> a model that is ready to be built: config.json, the shape it gives, and weights that were
// checked against it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"
#include "checkpoint/tensor_source.h"

namespace outrider::checkpoint {

enum class LoadFormat {
  Mmap,   // files, mapped
  Dummy,  // random weights; the path needs a config.json only, or is one
};

struct OpenOptions {
  LoadFormat load_format = LoadFormat::Mmap;
  const base::Json* overrides = nullptr;  // JSON merge patch over config.json (--hf-overrides); may be null
  std::uint64_t seed = 0;                 // of dummy weights
};

struct OpenedModel {
  ModelShape shape;
  std::unique_ptr<const TensorSource> weights;
  base::Json config;                         // overrides applied
  std::vector<base::TokenId> end_token_ids;  // of config.json and generation_config.json together, ascending
};

struct OpenedDrafter {
  DrafterShape shape;
  std::unique_ptr<const TensorSource> weights;
  base::Json config;
};

// Refused with every fault of the config in one answer, or every disagreement between config and weights,
// each with both values and the tensor that shows it. No partly opened model.
base::Result<OpenedModel> open_model(const std::string& path, const OpenOptions& options, const Warn& warn);

// The same for a drafter of `target`; one that was made for another target (hidden size, vocabulary, taps,
// layers) is refused with both values.
base::Result<OpenedDrafter> open_drafter(const std::string& path, const ModelShape& target,
                                         const OpenOptions& options, const Warn& warn);

// The same where no target is at hand: to look at it or to pack it, not to run it.
base::Result<OpenedDrafter> open_lone_drafter(const std::string& path, const OpenOptions& options,
                                              const Warn& warn);

// The tensors of a checkpoint against its own config, named `source`: what the two above do on the way.
base::Result<base::Done> check_weights(const Checkpoint& checkpoint, const ModelShape& shape,
                                       const std::string& source);
base::Result<base::Done> check_weights(const Checkpoint& checkpoint, const DrafterShape& shape,
                                       const std::string& source);

}  // namespace outrider::checkpoint
