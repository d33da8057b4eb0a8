#include "bench/target.h"

#include <algorithm>

#include "base/clock.h"
#include "base/random.h"
#include "kernels/linear.h"

namespace outrider::bench {
namespace {

cache::CachePlan with_blocks(cache::CachePlan plan, std::int64_t count) {
  plan.block_count = count;
  return plan;
}

constexpr std::int64_t kChunkRows = 512;  // of filling and of logits

}  // namespace

std::vector<base::TokenId> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
  std::vector<base::TokenId> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const base::RandomStream stream(seed, static_cast<std::uint64_t>(i), base::Purpose::Target);
    tokens.push_back(static_cast<base::TokenId>(stream.uniform() * static_cast<double>(vocabulary)));
  }
  return tokens;
}

TargetRun::TargetRun(kernels::Executor& executor, model::Model& model, cache::CachePlan plan, int sequences,
                     std::int64_t positions)
    : executor_(executor),
      model_(model),
      store_(with_blocks(plan, sequences * cache::blocks_for(positions, plan.block_tokens))),
      blocks_each_(cache::blocks_for(positions, plan.block_tokens)) {
  for (std::int64_t i = 0; i < sequences * blocks_each_; ++i) {
    blocks_.push_back(static_cast<base::BlockId>(i));
  }
}

void TargetRun::place(const Step& step, std::span<const base::TokenId> tokens) {
  batch_.clear();
  OUTRIDER_CHECK(step.context + step.rows <= blocks_each_ * store_.plan().block_tokens);
  for (std::int64_t row = 0; row < step.sequences * step.rows; ++row) {
    batch_.add(tokens[static_cast<std::size_t>(row)], step.context + row % step.rows,
               blocks_.data() + row / step.rows * blocks_each_);
  }
}

tensor::MatrixView<float> TargetRun::forward(model::RoutingObserver* observer) {
  const std::int64_t rows = batch_.row_count(), width = model_.shape().hidden_width;
  const auto bytes = static_cast<std::size_t>(rows * width) * sizeof(float);
  if (hidden_.size() < bytes) hidden_ = tensor::Buffer(bytes);
  const tensor::MatrixView<float> hidden(hidden_.as<float>(), rows, width);
  model_.forward(executor_, batch_, store_, {.points = {}, .features = {}}, hidden, observer);
  return hidden;
}

double TargetRun::run(const Step& step, model::RoutingObserver* observer) {
  place(step, random_tokens(step.sequences * step.rows, model_.shape().vocabulary, step.seed));
  const std::int64_t logit_rows = step.last_row_only ? 1 : batch_.row_count();
  best_.resize(static_cast<std::size_t>(logit_rows));
  best_values_.resize(static_cast<std::size_t>(logit_rows));
  const double start = base::seconds_now();
  const auto hidden = forward(observer);
  kernels::linear_argmax(executor_, hidden.row_range(hidden.rows - logit_rows, logit_rows),
                         model_.head_weights(), best_, best_values_);
  return base::seconds_now() - start;
}

void TargetRun::fill(std::int64_t context) {
  for (std::int64_t first = 0; first < context; first += kChunkRows) {
    run({.sequences = 1,
         .rows = std::min(kChunkRows, context - first),
         .context = first,
         .last_row_only = true,
         .seed = static_cast<std::uint64_t>(first) + 1});
  }
  const std::int64_t used = cache::blocks_for(context, store_.plan().block_tokens);
  for (std::size_t first = static_cast<std::size_t>(blocks_each_); first < blocks_.size();
       first += static_cast<std::size_t>(blocks_each_)) {
    for (std::int64_t i = 0; i < used; ++i) {
      store_.duplicate_block(blocks_[static_cast<std::size_t>(i)],
                             blocks_[first + static_cast<std::size_t>(i)]);
    }
  }
}

tensor::MatrixView<const float> TargetRun::logits(std::span<const base::TokenId> tokens,
                                                  std::int64_t context) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  place({.sequences = 1, .rows = rows, .context = context}, tokens);
  const auto hidden = forward(nullptr);
  const std::int64_t vocabulary = model_.shape().vocabulary;
  const auto bytes = static_cast<std::size_t>(rows * vocabulary) * sizeof(float);
  if (logits_.size() < bytes) logits_ = tensor::Buffer(bytes);
  const tensor::MatrixView<float> logits(logits_.as<float>(), rows, vocabulary);
  kernels::linear(executor_, hidden, model_.head_weights(), {}, logits);
  return logits;
}

}  // namespace outrider::bench
