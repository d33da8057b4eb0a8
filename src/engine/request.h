// What the engine runs and what comes out, in token ids only: text is above (text/, cli/, serve/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "decode/sampling.h"

namespace outrider::engine {

struct Request {
  std::vector<base::TokenId> prompt = {};  // at least one token
  decode::SamplingParams sampling;
  std::int64_t tokens_max;  // of output, at least 1
  std::vector<base::TokenId> stop_tokens =
      {};                            // end of text: the run ends with (and keeps) the first of these
  std::optional<int> logprobs = {};  // per token, of the raw logits, with so many of the most likely
  bool trace_rounds = false;
};

enum class FinishReason { Stop, Length };

// One draft-and-verify round. Survival estimates are the confidence head's, empty where there is none.
struct Round {
  std::int64_t position;  // of the anchor
  base::TokenId anchor;
  std::vector<base::TokenId> drafted = {};
  std::vector<float> confidence = {};
  int accepted;
  base::TokenId next;  // the correction, or the bonus after full acceptance
};

// Receives the tokens of one request as they are committed.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  // How many of `tokens` to keep; fewer than all, or `stop`, ends the request with FinishReason::Stop (a stop
  // string). What is not kept never happened.
  struct Answer {
    std::size_t kept;
    bool stop;
  };
  virtual Answer on_tokens(std::span<const base::TokenId> tokens) = 0;
};

struct Output {
  std::vector<base::TokenId> tokens = {};
  std::optional<FinishReason> finish = {};         // absent while it runs, or where `error` is set
  std::vector<decode::RowLogprobs> logprobs = {};  // one a token, where asked
  std::vector<Round> rounds = {};                  // where asked
  std::string error;                               // of this request alone; empty if none
};

}  // namespace outrider::engine
