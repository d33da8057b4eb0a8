#include "draft/context_writer.h"

#include <algorithm>
#include <cstring>

#include "draft/scratch.h"
#include "kernels/elementwise.h"

namespace outrider::draft {
namespace {

// Rows that wait at most: enough that reading the weights for them costs next to nothing a row.
constexpr std::int64_t kWaitingRows = 64;

}  // namespace

ContextWriter::ContextWriter(kernels::Executor& executor, const BlockPlan& plan, model::WeightLoader& loader)
    : executor_(executor),
      plan_(plan),
      feature_width_(static_cast<std::int64_t>(plan.shape.taps.size()) * plan.shape.backbone.hidden_width),
      projection_(loader.matrix({"fc.weight"}, model::MatrixUse::Layer)),
      norm_(loader.vector({"hidden_norm.weight"})),
      store_(plan.cache),
      pool_(plan.cache.block_count) {}

void ContextWriter::begin(base::SequenceId sequence) {
  const auto [state, is_new] = states_.emplace(
      sequence, State{.table = cache::BlockTable(pool_, plan_.cache.block_tokens), .features = {}});
  if (is_new) state->second.table.expect(plan_.position_count);
}

void ContextWriter::settle(base::SequenceId sequence, std::int64_t length) {
  State& state = states_.at(sequence);
  state.waiting = std::clamp<std::int64_t>(length - state.length, 0, state.waiting);
  state.length = std::min(state.length, length);
  state.table.truncate(state.length);
}

void ContextWriter::observe(const Observation& observation) {
  const std::int64_t rows = observation.features.rows;
  if (rows == 0) return;
  State& state = states_.at(observation.sequence);
  OUTRIDER_CHECK_MSG(observation.first_position == state.length + state.waiting,
                     "a drafter's context must have no holes");
  if (state.waiting + rows > kWaitingRows) write({&observation.sequence, 1});
  if (rows > kWaitingRows) {
    positions_.clear();
    stored_.clear();
    place(state, rows);
    write_rows(observation.features);
    return;
  }
  const auto waiting = grow(state.features, kWaitingRows, feature_width_);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(waiting.row(state.waiting + row), observation.features.row(row),
                static_cast<std::size_t>(feature_width_) * sizeof(float));
  }
  state.waiting += rows;
}

// Blocks and places of the next `rows` positions, which count as written from here on.
void ContextWriter::place(State& state, std::int64_t rows) {
  const bool reserved = state.table.reserve(state.length, state.length + rows, store_);
  OUTRIDER_CHECK_MSG(reserved, "the drafter's cache is planned for every sequence's length");
  for (std::int64_t row = 0; row < rows; ++row) {
    positions_.push_back(state.length + row);
    stored_.push_back({.blocks = state.table.data(), .position = state.length + row});
  }
  state.length += rows;
}

// The waiting rows of all sequences, one behind the other: as they lie if there is one sequence.
tensor::MatrixView<const float> ContextWriter::gather(std::span<const base::SequenceId> sequences) {
  std::int64_t rows = 0;
  for (const base::SequenceId sequence : sequences) rows += states_.at(sequence).waiting;
  if (sequences.size() == 1) {
    return {states_.at(sequences.front()).features.as<float>(), rows, feature_width_};
  }
  const auto gathered = grow(gathered_, rows, feature_width_);
  std::int64_t first = 0;
  for (const base::SequenceId sequence : sequences) {
    const State& state = states_.at(sequence);
    if (state.waiting == 0) continue;
    std::memcpy(gathered.row(first), state.features.as<float>(),
                static_cast<std::size_t>(state.waiting * feature_width_) * sizeof(float));
    first += state.waiting;
  }
  return gathered;
}

tensor::MatrixView<float> ContextWriter::write(std::span<const base::SequenceId> sequences) {
  positions_.clear();
  stored_.clear();
  const tensor::MatrixView<const float> features = gather(sequences);
  if (features.rows == 0) return {};
  for (const base::SequenceId sequence : sequences) {
    State& state = states_.at(sequence);
    place(state, state.waiting);
    state.waiting = 0;
  }
  return write_rows(features);
}

tensor::MatrixView<float> ContextWriter::write_rows(tensor::MatrixView<const float> features) {
  const auto context = grow(context_, features.rows, plan_.shape.backbone.hidden_width);
  kernels::linear(executor_, features, projection_, {}, context);
  kernels::rms_norm(executor_, context, norm_, static_cast<float>(plan_.shape.backbone.norm_epsilon),
                    context);
  for (std::size_t i = 0; i < layers_.attention.size(); ++i) {
    model::store_context(executor_, workspace_, *layers_.attention[i], layers_.rope->view(), positions_,
                         stored_, store_.layer(static_cast<int>(i)), context);
  }
  return context;
}

std::vector<std::byte> ContextWriter::state_bytes(base::SequenceId sequence, std::int64_t position) {
  write({&sequence, 1});
  return store_.position_bytes(table(sequence).data(), position);
}

}  // namespace outrider::draft
