// The small heads of a block drafter: the sequential (Markov) head, a low-rank bias on the logits from the
// token before, and the confidence head (DSpark, arXiv 2607.05147). Both work row by row: one row is one
// sequence's current draft.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "checkpoint/drafter_shape.h"
#include "kernels/linear.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace outrider::draft {

class MarkovHead {
 public:
  MarkovHead(kernels::Executor& executor, model::WeightLoader& loader, const checkpoint::MarkovShape& shape);

  std::int64_t rank() const { return shape_.rank; }
  // Starts a block for `rows` sequences: the rnn's state is zero.
  void begin_block(std::int64_t rows);
  // e [rows, rank] = W1 rows of the tokens before.
  void embed(kernels::Executor& executor, std::span<const base::TokenId> previous,
             tensor::MatrixView<float> e) const;
  // What W2 multiplies: e itself (vanilla), sigmoid(Wg [h; e] + b) * e (gated), tanh(o) of the rnn, whose
  // state moves on.
  void derive_input(kernels::Executor& executor, tensor::MatrixView<const float> h,
                    tensor::MatrixView<const float> e, tensor::MatrixView<float> input);
  const kernels::PackedMatrix& output_weights() const { return w2_; }  // [draft vocabulary, rank]
  std::span<const float> output_lengths() const { return w2_lengths_; }
  std::int64_t byte_count() const { return w1_.byte_count() + w2_.byte_count() + gate_.byte_count(); }

 private:
  checkpoint::MarkovShape shape_;
  kernels::PackedMatrix w1_, w2_;
  std::vector<float> w2_lengths_;  // of W2's rows, for kernels::biased_argmax
  kernels::PackedMatrix
      gate_;  // gated: [rank, hidden + rank]; rnn: [3 * rank, 2 * rank + hidden]; vanilla: empty
  std::vector<float> gate_bias_;
  std::vector<float> state_;       // rnn: [rows, rank]
  tensor::Buffer joined_, gates_;  // scratch
};

// c = sigmoid(w [h; e] + b), or w h + b alone: the chance that the draft of this slot is accepted, given
// those before it.
class ConfidenceHead {
 public:
  ConfidenceHead(model::WeightLoader& loader, const checkpoint::ConfidenceShape& shape);
  float score(std::span<const float> h, std::span<const float> e) const;

 private:
  bool with_markov_;
  std::vector<float> weight_;
  float bias_ = 0;
};

}  // namespace outrider::draft
