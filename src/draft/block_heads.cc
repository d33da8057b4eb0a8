#include "draft/block_heads.h"

#include <cmath>
#include <cstring>

#include "draft/scratch.h"
#include "kernels/biased_argmax.h"

namespace outrider::draft {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace

MarkovHead::MarkovHead(kernels::Executor& executor, model::WeightLoader& loader,
                       const checkpoint::MarkovShape& shape)
    : shape_(shape) {
  w1_ = loader.matrix({"markov_head.markov_w1.weight"}, model::MatrixUse::Vocabulary);
  w2_ = loader.matrix({"markov_head.markov_w2.weight"}, model::MatrixUse::Vocabulary);
  w2_lengths_ = kernels::derive_output_lengths(executor, w2_);
  if (shape.kind == checkpoint::MarkovKind::Vanilla) return;
  const std::string gate =
      shape.kind == checkpoint::MarkovKind::Gated ? "markov_head.gate_proj" : "markov_head.joint_proj";
  gate_ = loader.matrix({gate + ".weight"}, model::MatrixUse::Exact);
  gate_bias_ = loader.vector({gate + ".bias"});
}

void MarkovHead::begin_block(std::int64_t rows) {
  state_.assign(static_cast<std::size_t>(rows * shape_.rank), 0.0f);
}

void MarkovHead::embed(kernels::Executor&, std::span<const base::TokenId> previous,
                       tensor::MatrixView<float> e) const {
  for (std::int64_t row = 0; row < e.rows; ++row) {
    kernels::unpack_row(w1_, previous[static_cast<std::size_t>(row)], e.row_span(row));
  }
}

void MarkovHead::derive_input(kernels::Executor& executor, tensor::MatrixView<const float> h,
                              tensor::MatrixView<const float> e, tensor::MatrixView<float> input) {
  const std::int64_t r = shape_.rank;
  const auto row_bytes = [](std::int64_t columns) {
    return static_cast<std::size_t>(columns) * sizeof(float);
  };
  if (shape_.kind == checkpoint::MarkovKind::Vanilla) {
    for (std::int64_t row = 0; row < e.rows; ++row) std::memcpy(input.row(row), e.row(row), row_bytes(r));
    return;
  }
  const bool rnn = shape_.kind == checkpoint::MarkovKind::Rnn;
  const auto joined = grow(joined_, h.rows, gate_.inputs());
  for (std::int64_t row = 0; row < h.rows; ++row) {
    float* out = joined.row(row);
    if (rnn) {  // [s; e; h]
      std::memcpy(out, state_.data() + row * r, row_bytes(r));
      std::memcpy(out + r, e.row(row), row_bytes(r));
      std::memcpy(out + 2 * r, h.row(row), row_bytes(h.columns));
    } else {  // [h; e]
      std::memcpy(out, h.row(row), row_bytes(h.columns));
      std::memcpy(out + h.columns, e.row(row), row_bytes(r));
    }
  }
  const auto gates = grow(gates_, h.rows, gate_.outputs());
  kernels::linear(executor, joined, gate_, gate_bias_, gates);
  for (std::int64_t row = 0; row < h.rows; ++row) {
    const float* z = gates.row(row);
    float* state = state_.data() + row * r;
    for (std::int64_t i = 0; i < r; ++i) {
      if (rnn) {  // the output uses the old state; then the state moves on
        input.row(row)[i] = std::tanh(z[2 * r + i]);
        const float keep = sigmoid(z[i]);
        state[i] = keep * state[i] + (1.0f - keep) * std::tanh(z[r + i]);
      } else {
        input.row(row)[i] = sigmoid(z[i]) * e.row(row)[i];
      }
    }
  }
}

ConfidenceHead::ConfidenceHead(model::WeightLoader& loader, const checkpoint::ConfidenceShape& shape)
    : with_markov_(shape.with_markov), weight_(loader.vector({"confidence_head.proj.weight"})) {
  const std::vector<float> bias = loader.vector({"confidence_head.proj.bias"});
  if (!bias.empty()) bias_ = bias.front();
}

float ConfidenceHead::score(std::span<const float> h, std::span<const float> e) const {
  double sum = bias_;
  for (std::size_t i = 0; i < h.size(); ++i)
    sum += static_cast<double>(weight_[i]) * static_cast<double>(h[i]);
  if (with_markov_) {
    for (std::size_t i = 0; i < e.size(); ++i) {
      sum += static_cast<double>(weight_[h.size() + i]) * static_cast<double>(e[i]);
    }
  }
  return sigmoid(static_cast<float>(sum));
}

}  // namespace outrider::draft
