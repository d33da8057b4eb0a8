#include "model/families/qwen3.h"

#include <algorithm>
#include <cstring>

#include "model/bricks/attention.h"
#include "model/bricks/embedding.h"
#include "model/bricks/mlp.h"
#include "model/rope.h"

namespace outrider::model {
namespace {

struct Layer {
  AttentionWeights attention;
  MlpWeights mlp;
};

class Qwen3 final : public Model {
 public:
  Qwen3(checkpoint::ModelShape shape, WeightLoader& loader, std::int64_t position_count)
      : shape_(std::move(shape)) {
    embedding_ = loader.matrix({"model.embed_tokens.weight"}, MatrixUse::Vocabulary);
    for (std::size_t i = 0; i < shape_.layers.size(); ++i) {
      const std::string prefix = "model.layers." + std::to_string(i) + ".";
      const auto& attention = std::get<checkpoint::GroupedAttention>(shape_.layers[i].attention);
      layers_.push_back({load_attention(loader, prefix, attention, shape_.norm_epsilon),
                         load_mlp(loader, prefix, shape_.layers[i].mlp, shape_.norm_epsilon)});
    }
    final_norm_ = loader.vector({"model.norm.weight"});
    if (!shape_.tied_head) head_ = loader.matrix({"lm_head.weight"}, MatrixUse::Vocabulary);
    rope_ = RopeTables(shape_.rope, layers_.front().attention.shape.head_width, position_count);
  }

  const checkpoint::ModelShape& shape() const override { return shape_; }
  const kernels::PackedMatrix& embedding_weights() const override { return embedding_; }
  const kernels::PackedMatrix& head_weights() const override { return shape_.tied_head ? embedding_ : head_; }

  void forward(kernels::Executor& executor, const Batch& batch, cache::KvStore& store, const TapRequest& taps,
               tensor::MatrixView<float> hidden, RoutingObserver* observer) override {
    const auto x = workspace_.matrix(Slot::Stream, batch.row_count(), shape_.hidden_width);
    embed(executor, embedding_, batch.tokens, x);
    place_rows(batch);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const int index = static_cast<int>(i);
      serve_taps(taps, {index, TapSide::Input}, x);
      see_rows(batch, layers_[i].attention.shape.window);
      run_attention(executor, workspace_, layers_[i].attention, rope_.view(),
                    {.positions = batch.positions, .stored = stored_, .seen = seen_}, store.layer(index), x);
      run_mlp(executor, workspace_, layers_[i].mlp, x, index, observer);
      serve_taps(taps, {index, TapSide::Output}, x);
    }
    kernels::rms_norm(executor, x, final_norm_, static_cast<float>(shape_.norm_epsilon), hidden);
  }

  std::int64_t weight_bytes() const override {
    std::int64_t bytes = embedding_.byte_count() + head_.byte_count();
    for (const Layer& layer : layers_) bytes += attention_bytes(layer.attention) + mlp_bytes(layer.mlp);
    return bytes;
  }
  std::int64_t weight_bytes_per_row() const override {
    std::int64_t bytes = head_weights().byte_count();
    for (const Layer& layer : layers_)
      bytes += attention_bytes(layer.attention) + mlp_bytes_per_row(layer.mlp);
    return bytes;
  }

 private:
  static std::int64_t attention_bytes(const AttentionWeights& weights) {
    return weights.query.byte_count() + weights.key_value.byte_count() + weights.output.byte_count();
  }

  void place_rows(const Batch& batch) {
    stored_.clear();
    for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
      stored_.push_back({.blocks = batch.blocks[row], .position = batch.positions[row]});
    }
  }
  void see_rows(const Batch& batch, std::optional<std::int64_t> window) {
    seen_.clear();
    for (std::size_t row = 0; row < batch.tokens.size(); ++row) {
      const std::int64_t position = batch.positions[row];
      const std::int64_t first = window ? std::max<std::int64_t>(0, position - *window + 1) : 0;
      seen_.push_back({.blocks = batch.blocks[row], .first = first, .last = position + 1});
    }
  }
  static void serve_taps(const TapRequest& taps, const TapPoint& point, tensor::MatrixView<const float> x) {
    for (std::size_t i = 0; i < taps.points.size(); ++i) {
      if (taps.points[i] != point) continue;
      const auto out = taps.features.column_range(static_cast<std::int64_t>(i) * x.columns, x.columns);
      for (std::int64_t row = 0; row < x.rows; ++row) {
        std::memcpy(out.row(row), x.row(row), static_cast<std::size_t>(x.columns) * sizeof(float));
      }
    }
  }

  checkpoint::ModelShape shape_;
  kernels::PackedMatrix embedding_, head_;  // head_ is empty when tied
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  RopeTables rope_;
  Workspace workspace_;
  std::vector<kernels::KvRow> stored_;
  std::vector<kernels::AttentionRow> seen_;
};

}  // namespace

base::Result<std::unique_ptr<Model>> load_qwen3(kernels::Executor& executor,
                                                const checkpoint::ModelShape& shape,
                                                const checkpoint::TensorSource& source,
                                                const ModelOptions& options) {
  for (const checkpoint::LayerShape& layer : shape.layers) {
    OUTRIDER_CHECK(std::holds_alternative<checkpoint::GroupedAttention>(layer.attention));
  }
  WeightLoader loader(executor, source, options.load);
  auto model = std::make_unique<Qwen3>(shape, loader, options.position_count);
  OUTRIDER_TRY_DONE(std::move(loader).finish());
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace outrider::model
