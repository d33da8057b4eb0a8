// Sequence: one request's timeline inside the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/block_table.h"
#include "decode/proposal.h"
#include "decode/token_history.h"
#include "engine/request.h"

namespace outrider::engine {

struct Sequence {
  base::SequenceId id;
  Request request;
  TokenSink* sink;
  std::vector<base::TokenId>
      tokens;  // prompt and output; while decoding, the last one is the anchor: committed, not yet run
  std::int64_t computed = 0;  // positions 0 .. computed - 1 have keys and values
  cache::BlockTable table;
  decode::TokenHistory history;
  decode::Proposal proposal = {};  // drafts for the positions behind tokens.back()
  Output output = {};

  bool finished() const { return output.finish.has_value() || !output.error.empty(); }
  // The next step runs the anchor (and drafts), not a stretch of the prompt.
  bool decoding() const {
    return computed + 1 == static_cast<std::int64_t>(tokens.size()) && output_count() > 0;
  }
  std::int64_t output_count() const {
    return static_cast<std::int64_t>(tokens.size()) - static_cast<std::int64_t>(request.prompt.size());
  }
};

}  // namespace outrider::engine
