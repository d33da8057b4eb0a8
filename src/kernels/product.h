// How rows are cut into tiles, for linear.cc and moe.cc. Pure: depends on counts only, and no row's result
// depends on it.
#pragma once

#include <cstdint>

#include "kernels/layout.h"
#include "kernels/pool.h"

namespace outrider::kernels {

inline constexpr int kTileRowsMax = 16;  // of any target

// `rows` rows in as few tiles as hold them, of nearly equal size: 13 rows are 7 + 6, not 12 + 1.
struct TileSplit {
  std::int64_t rows;
  std::int64_t tiles;
  Share rows_of(std::int64_t tile) const {
    const std::int64_t base = rows / tiles, extra = rows % tiles;
    const std::int64_t first = tile * base + (tile < extra ? tile : extra);
    return {first, first + base + (tile < extra ? 1 : 0)};
  }
};

inline TileSplit split_tiles(std::int64_t rows, int tile_rows) {
  return {rows, ceil_divide(rows, tile_rows)};
}

inline int columns_of(std::int64_t panel, std::int64_t outputs) {
  const std::int64_t left = outputs - panel * kPanelOutputs;
  return static_cast<int>(left < kPanelOutputs ? left : kPanelOutputs);
}

}  // namespace outrider::kernels
