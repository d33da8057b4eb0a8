#include "model/bricks/mlp.h"

namespace outrider::model {
namespace {

DenseMlpWeights load_dense(WeightLoader& loader, const std::string& prefix) {
  return {
      .gate_up = loader.matrix({prefix + "gate_proj.weight", prefix + "up_proj.weight"}, MatrixUse::Layer),
      .down = loader.matrix({prefix + "down_proj.weight"}, MatrixUse::Layer)};
}

MoeMlpWeights load_moe(WeightLoader& loader, const std::string& prefix, const checkpoint::MoeMlp& shape) {
  MoeMlpWeights weights{
      .shape = shape, .router = loader.matrix({prefix + "gate.weight"}, MatrixUse::Exact), .experts = {}};
  for (int e = 0; e < shape.experts; ++e) {
    DenseMlpWeights expert = load_dense(loader, prefix + "experts." + std::to_string(e) + ".");
    weights.experts.push_back({std::move(expert.gate_up), std::move(expert.down)});
  }
  return weights;
}

void run_dense(kernels::Executor& executor, Workspace& workspace, const DenseMlpWeights& weights,
               tensor::MatrixView<const float> normed, tensor::MatrixView<float> delta) {
  const auto gate_up = workspace.matrix(Slot::GateUp, normed.rows, weights.gate_up.outputs());
  kernels::linear(executor, normed, weights.gate_up, {}, gate_up);
  const auto gated = workspace.matrix(Slot::Gated, normed.rows, weights.gate_up.outputs() / 2);
  kernels::silu_multiply(executor, gate_up, gated);
  kernels::linear(executor, gated, weights.down, {}, delta);
}

void run_moe(kernels::Executor& executor, Workspace& workspace, const MoeMlpWeights& weights,
             tensor::MatrixView<const float> normed, tensor::MatrixView<float> delta, int layer,
             RoutingObserver* observer) {
  const int k = weights.shape.experts_per_token;
  const auto logits = workspace.matrix(Slot::RouterLogits, normed.rows, weights.shape.experts);
  kernels::linear(executor, normed, weights.router, {}, logits);
  const auto routing =
      workspace.matrix(Slot::RouterWeights, normed.rows, 2 * k);  // weights, then ids of the same size
  const tensor::MatrixView<float> chosen_weights(routing.data, normed.rows, k);
  const tensor::MatrixView<std::int32_t> ids(reinterpret_cast<std::int32_t*>(routing.data + normed.rows * k),
                                             normed.rows, k);
  kernels::route_softmax_topk(executor, logits, k, weights.shape.normalise_weights, ids, chosen_weights);
  if (observer != nullptr) observer->observe(layer, logits, ids, chosen_weights);
  kernels::moe_mlp(executor, normed, weights.experts, ids, chosen_weights, delta);
}

std::int64_t expert_bytes(const kernels::ExpertWeights& expert) {
  return expert.gate_up.byte_count() + expert.down.byte_count();
}

}  // namespace

MlpWeights load_mlp(WeightLoader& loader, const std::string& prefix, const checkpoint::MlpShape& shape,
                    double epsilon) {
  MlpWeights weights{.epsilon = static_cast<float>(epsilon),
                     .norm = loader.vector({prefix + "post_attention_layernorm.weight"}),
                     .kind = DenseMlpWeights{}};
  if (const auto* moe = std::get_if<checkpoint::MoeMlp>(&shape)) {
    weights.kind = load_moe(loader, prefix + "mlp.", *moe);
  } else {
    weights.kind = load_dense(loader, prefix + "mlp.");
  }
  return weights;
}

void run_mlp(kernels::Executor& executor, Workspace& workspace, const MlpWeights& weights,
             tensor::MatrixView<float> x, int layer, RoutingObserver* observer) {
  const auto normed = workspace.matrix(Slot::Normed, x.rows, x.columns);
  kernels::rms_norm(executor, x, weights.norm, weights.epsilon, normed);
  const auto delta = workspace.matrix(Slot::Delta, x.rows, x.columns);
  if (const auto* dense = std::get_if<DenseMlpWeights>(&weights.kind)) {
    run_dense(executor, workspace, *dense, normed, delta);
  } else {
    run_moe(executor, workspace, std::get<MoeMlpWeights>(weights.kind), normed, delta, layer, observer);
  }
  kernels::add_rows(executor, delta, x);
}

std::int64_t mlp_bytes(const MlpWeights& weights) {
  if (const auto* dense = std::get_if<DenseMlpWeights>(&weights.kind)) {
    return dense->gate_up.byte_count() + dense->down.byte_count();
  }
  const auto& moe = std::get<MoeMlpWeights>(weights.kind);
  std::int64_t bytes = moe.router.byte_count();
  for (const kernels::ExpertWeights& expert : moe.experts) bytes += expert_bytes(expert);
  return bytes;
}

std::int64_t mlp_bytes_per_row(const MlpWeights& weights) {
  const auto* moe = std::get_if<MoeMlpWeights>(&weights.kind);
  if (moe == nullptr) return mlp_bytes(weights);
  return moe->router.byte_count() + moe->shape.experts_per_token * expert_bytes(moe->experts.front());
}

}  // namespace outrider::model
