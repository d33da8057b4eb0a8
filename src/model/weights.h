// WeightLoader: checkpoint tensors -> the packed matrices and vectors of the bricks. The tensors were checked
// against the shape before (checkpoint/check_tensors.h); what can still go wrong (a file that changed
// underneath) is collected and comes out of finish().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inspector.h"
#include "checkpoint/tensor_source.h"
#include "kernels/executor.h"
#include "kernels/linear.h"

namespace outrider::model {

// What a matrix is for decides how it may be held (docs/decisions/quantisation.md): layers as asked,
// embedding and head never below 8 bits, the router and the small heads of drafters as stored.
enum class MatrixUse { Layer, Vocabulary, Exact };

// Takes what a loader would have kept: a writer of packed files. Matrices come quantised, one at a time.
class WeightSink {
 public:
  virtual ~WeightSink() = default;
  virtual void take_matrix(const std::vector<std::string>& names, std::span<const std::int64_t> rows,
                           kernels::PackedMatrix matrix) = 0;
  virtual void take_plain(const std::string& name, const tensor::TensorView& view) = 0;
};

struct LoadOptions {
  std::optional<kernels::WeightFormat> quantization;  // Int8, Int4
  std::function<void(std::int64_t bytes_done)>
      on_progress;             // bytes of the checkpoint read so far; may be empty
  WeightSink* sink = nullptr;  // if set, everything goes there and the matrices that come back are empty
};

class WeightLoader {
 public:
  WeightLoader(kernels::Executor& executor, const checkpoint::TensorSource& source, LoadOptions options)
      : executor_(executor), source_(source), options_(std::move(options)) {
    check_quantization();
  }

  bool has(const std::string& name) const { return source_.has(name); }
  // The tensors stacked along the outputs and packed; where the source has them packed so, a view of its
  // bytes.
  kernels::PackedMatrix matrix(const std::vector<std::string>& names, MatrixUse use);
  // The tensors, one after the other, as floats.
  std::vector<float> vector(const std::vector<std::string>& names);
  std::vector<std::int64_t> integers(const std::string& name);

  // A fault in a tensor's values.
  void report(base::Problem problem) { inspector_.report(std::move(problem)); }
  base::Result<base::Done> finish() &&;

 private:
  void check_quantization();
  kernels::PackedMatrix view_packed(const std::vector<std::string>& names,
                                    const checkpoint::PackedTensor& packed, MatrixUse use);
  kernels::WeightFormat format_of(std::span<const tensor::TensorView> views, MatrixUse use) const;
  std::optional<checkpoint::HeldTensor> fetch(const std::string& name);
  void count_progress(std::int64_t bytes);
  kernels::Executor& executor_;
  const checkpoint::TensorSource& source_;
  LoadOptions options_;
  base::Inspector inspector_;
  std::int64_t bytes_done_ = 0;
};

}  // namespace outrider::model
