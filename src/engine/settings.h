// EngineSettings: what one process was asked to run, with the choices that are left to us absent; and the one
// function that turns it, with the shapes read from the checkpoints, into an EnginePlan or a refusal that
// lists every problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/drafter_shape.h"
#include "checkpoint/model_shape.h"
#include "decode/accept_method.h"
#include "decode/draft_sampling.h"
#include "engine/engine_plan.h"

namespace outrider::engine {

enum class DtypeChoice { Auto, Float32, Bfloat16 };
enum class DraftMethod { DSpark, DFlash, Ngram };

struct SpeculativeSettings {
  DraftMethod method;
  std::optional<int> draft_tokens = {};  // num_speculative_tokens; absent: the drafts of the block
  std::optional<int> block_size =
      {};  // rows of the draft block; absent: as trained, more only if N needs more
  decode::AcceptMethod accept = decode::AcceptMethod::Standard;
  std::optional<std::vector<double>> synthetic_rates = {};
  std::optional<double> synthetic_length = {};
  decode::DraftSampleMethod sample_method = decode::DraftSampleMethod::Greedy;
  double confidence_threshold = 0;
  std::optional<kernels::WeightFormat> quantization = {};
  int lookup_max = 5, lookup_min = 1;  // n-gram only
};

struct EngineSettings {
  kernels::Target target;
  int thread_count;
  DtypeChoice dtype = DtypeChoice::Auto;
  DtypeChoice kv_dtype = DtypeChoice::Auto;  // Auto: as the arithmetic
  std::optional<kernels::WeightFormat> quantization = {};
  int block_tokens = 16;
  std::optional<std::int64_t> sequence_tokens_max = {};  // max_model_len; absent: the model's positions
  std::int64_t step_rows_max = 2048;
  std::int64_t sequences_max = 1;
  // Positions that all sequences together may hold at once; absent: sequences_max times the longest.
  std::optional<std::int64_t> cache_tokens = {};
  decode::AcceptMethod accept = decode::AcceptMethod::Standard;  // without a drafter
  std::optional<SpeculativeSettings> speculative = {};
};

// `drafter` is the shape of the drafter's checkpoint, for methods that have one; it was checked to fit the
// target when it was opened.
base::Result<EnginePlan> derive_engine_plan(const EngineSettings& settings,
                                            const checkpoint::ModelShape& shape,
                                            const std::optional<checkpoint::DrafterShape>& drafter);

}  // namespace outrider::engine
