// Different things have different types. TokenId stays a plain integer: it indexes vocabulary rows
// everywhere.
#pragma once

#include <cstdint>

namespace outrider::base {

using TokenId = std::int32_t;              // row of the vocabulary
enum class BlockId : std::int32_t {};      // block of a paged key-value store
enum class SequenceId : std::uint64_t {};  // what the engine runs for one request

constexpr std::int32_t index_of(BlockId id) { return static_cast<std::int32_t>(id); }

}  // namespace outrider::base
