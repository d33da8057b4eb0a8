// A target ready to be measured without an engine around it: a model, a cache with contexts in it, and steps
// of any shape. Rows are random tokens, so that no tokenizer is needed and experts are chosen independently.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/kv_store.h"
#include "kernels/executor.h"
#include "model/model.h"

namespace outrider::bench {

// Random tokens of a vocabulary: the same for the same seed.
std::vector<base::TokenId> random_tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed);

class TargetRun {
 public:
  // Room for `sequences` of `positions` each.
  TargetRun(kernels::Executor& executor, model::Model& model, cache::CachePlan plan, int sequences,
            std::int64_t positions);

  // Fills the first `context` positions of every sequence: computed once, copied to the others.
  void fill(std::int64_t context);

  // Rows behind `context`: `rows` of each of the first `sequences`. The seconds of a greedy step: the pass,
  // and the argmax of every row, or only of the last (a prompt's).
  struct Step {
    int sequences;
    std::int64_t rows;
    std::int64_t context;
    bool last_row_only = false;
    std::uint64_t seed = 0;
  };
  double run(const Step& step, model::RoutingObserver* observer = nullptr);
  // The same rows' logits: [rows, vocabulary].
  tensor::MatrixView<const float> logits(std::span<const base::TokenId> tokens, std::int64_t context);

  std::int64_t cache_bytes_per_token() const { return store_.plan().bytes_per_token(); }
  kernels::Executor& executor() { return executor_; }
  const model::Model& model() const { return model_; }

 private:
  void place(const Step& step, std::span<const base::TokenId> tokens);
  tensor::MatrixView<float> forward(model::RoutingObserver* observer);

  kernels::Executor& executor_;
  model::Model& model_;
  cache::KvStore store_;
  std::int64_t blocks_each_;
  std::vector<base::BlockId> blocks_;  // blocks_each_ of each sequence
  model::Batch batch_;
  tensor::Buffer hidden_, logits_;
  std::vector<std::int32_t> best_;
  std::vector<float> best_values_;
};

}  // namespace outrider::bench
