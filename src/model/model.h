// Model: a target's weights and its forward pass. Everything that may change lives in the KvStore and the
// Batch, so one Model serves any number of sequences. Built by families.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/kv_store.h"
#include "checkpoint/model_shape.h"
#include "kernels/executor.h"
#include "kernels/linear.h"
#include "model/batch.h"

namespace outrider::model {

// Observes the experts chosen in MoE layers: ids and weights [rows, k], by falling probability. For balancing
// and for tests.
class RoutingObserver {
 public:
  virtual ~RoutingObserver() = default;
  virtual void observe(int layer, tensor::MatrixView<const float> logits,
                       tensor::MatrixView<const std::int32_t> ids,
                       tensor::MatrixView<const float> weights) = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  virtual const checkpoint::ModelShape& shape() const = 0;

  // Runs all rows; writes their keys and values; leaves the last layer's residual stream, after the final
  // norm, in `hidden` [rows, hidden_width].
  virtual void forward(kernels::Executor& executor, const Batch& batch, cache::KvStore& store,
                       const TapRequest& taps, tensor::MatrixView<float> hidden,
                       RoutingObserver* observer = nullptr) = 0;

  // What the head multiplies with, and what a drafter without its own embedding or head borrows: weights,
  // never state.
  virtual const kernels::PackedMatrix& embedding_weights() const = 0;
  virtual const kernels::PackedMatrix& head_weights() const = 0;

  // Bytes of weights held, and of those that one decoded row reads (the chosen experts only, no embedding
  // table).
  virtual std::int64_t weight_bytes() const = 0;
  virtual std::int64_t weight_bytes_per_row() const = 0;
};

// What the cache of such a model holds, layer by layer.
std::vector<cache::LayerCache> derive_cache_layers(const checkpoint::ModelShape& shape);

}  // namespace outrider::model
