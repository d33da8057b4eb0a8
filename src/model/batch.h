// Batch: the rows that a forward pass computes, as a value. Ragged: rows of several sequences, prefill chunks
// and verification rows alike; rows of one sequence stand together, positions rising.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/taps.h"
#include "tensor/view.h"

namespace outrider::model {

struct Batch {
  std::vector<base::TokenId> tokens;
  std::vector<std::int64_t> positions;
  std::vector<const base::BlockId*> blocks;  // each row's block table, reserved up to the row's position

  std::int64_t row_count() const { return static_cast<std::int64_t>(tokens.size()); }
  void add(base::TokenId token, std::int64_t position, const base::BlockId* table) {
    tokens.push_back(token);
    positions.push_back(position);
    blocks.push_back(table);
  }
  void clear() {
    tokens.clear();
    positions.clear();
    blocks.clear();
  }
};

// What a pass leaves beside the cache.
struct TapRequest {
  std::span<const TapPoint> points;    // may be empty
  tensor::MatrixView<float> features;  // [rows, points * hidden_width]: concatenated in the order of `points`
};

}  // namespace outrider::model
