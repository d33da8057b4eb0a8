// The context of a block drafter: C = RMSNorm(W_fc F) of every committed row's features F, once for all
// layers, and each layer's own keys and values of C (DSpark, arXiv 2607.05147). Features wait until a block
// needs them, or many have come, so that a sequence whose drafting is switched off pays for little more than
// a copy, and weights are read once for the rows of many steps. What is written is the same bytes either way.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cache/block_pool.h"
#include "cache/block_table.h"
#include "cache/kv_store.h"
#include "draft/block_drafter.h"
#include "model/bricks/attention.h"
#include "model/rope.h"

namespace outrider::draft {

class ContextWriter {
 public:
  ContextWriter(kernels::Executor& executor, const BlockPlan& plan, model::WeightLoader& loader);

  // What keys and values are made with; outlive this.
  struct Layers {
    std::vector<const model::AttentionWeights*> attention;
    const model::RopeTables* rope = nullptr;
  };
  void set_layers(Layers layers) { layers_ = std::move(layers); }

  void begin(base::SequenceId sequence);
  void end(base::SequenceId sequence) { states_.erase(sequence); }
  // Forgets positions from `length` on.
  void settle(base::SequenceId sequence, std::int64_t length);
  // Features of the next positions. What cannot wait is written.
  void observe(const Observation& observation);
  // Writes what waits of these sequences; gives the rows of C, none if nothing waited.
  tensor::MatrixView<float> write(std::span<const base::SequenceId> sequences);

  // Positions written, and their blocks: a block's own rows are put behind them for a while.
  std::int64_t length(base::SequenceId sequence) const { return states_.at(sequence).length; }
  cache::BlockTable& table(base::SequenceId sequence) { return states_.at(sequence).table; }
  cache::KvStore& store() { return store_; }
  std::vector<std::byte> state_bytes(base::SequenceId sequence, std::int64_t position);
  std::int64_t byte_count() const { return projection_.byte_count(); }

 private:
  struct State {
    cache::BlockTable table;
    std::int64_t length = 0;   // positions 0 .. length - 1 are written
    std::int64_t waiting = 0;  // rows of features of the positions after them
    tensor::Buffer features;
  };
  tensor::MatrixView<const float> gather(std::span<const base::SequenceId> sequences);
  tensor::MatrixView<float> write_rows(tensor::MatrixView<const float> features);
  void place(State& state, std::int64_t rows);

  kernels::Executor& executor_;
  const BlockPlan& plan_;
  std::int64_t feature_width_;
  kernels::PackedMatrix projection_;
  std::vector<float> norm_;
  Layers layers_;
  cache::KvStore store_;
  cache::BlockPool pool_;
  std::unordered_map<base::SequenceId, State> states_;
  model::Workspace workspace_;
  tensor::Buffer context_, gathered_;
  std::vector<std::int64_t> positions_;
  std::vector<kernels::KvRow> stored_;
};

}  // namespace outrider::draft
