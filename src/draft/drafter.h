// Drafter: what rides ahead of the target. Four verbs: begin a sequence, observe the rows that the target
// committed, propose drafts, settle (forget what lies beyond a position). A drafter changes the speed of a
// run, never its text: verification is decode/'s matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "decode/proposal.h"
#include "decode/sampling.h"
#include "model/taps.h"
#include "tensor/view.h"

namespace outrider::draft {

// Rows that the target ran and that are committed now: positions first .. first + features.rows - 1, in order
// and without holes.
struct Observation {
  base::SequenceId sequence;
  std::int64_t first_position;
  tensor::MatrixView<const float> features;  // [rows, taps * hidden_width]
};

struct DraftRequest {
  base::SequenceId sequence;
  std::span<const base::TokenId>
      tokens;  // prompt and output; the last one is the anchor, at position tokens.size() - 1
  const decode::SamplingParams* sampling;
  int draft_count_max;  // fewer than the drafter's own N where little room is left; 0 gives an empty proposal
};

// Sees a block drafter's inner values as they are made: for tests and traces. Rows are [requests * slots] for
// layers and the block's hidden state, one row a request for each draft's logits.
enum class DraftStage { Context, LayerOutput, BlockHidden, BaseLogits, MarkovBias, Logits };
class DraftObserver {
 public:
  virtual ~DraftObserver() = default;
  virtual void observe(DraftStage stage, tensor::MatrixView<const float> values) = 0;
};

// Where the time of proposals went, in seconds, summed over the drafter's life.
struct DraftTimes {
  double context = 0, layers = 0, head = 0, markov = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;

  // What the target shall serve; may be empty.
  virtual std::span<const model::TapPoint> taps() const = 0;
  virtual int drafts_max() const = 0;  // N
  virtual bool estimates_survival() const = 0;

  virtual void begin(base::SequenceId sequence) = 0;
  // Copied or used up before this returns; what is made of it may wait for a proposal.
  virtual void observe(std::span<const Observation> observations) = 0;
  // One proposal per request. Every position before the anchor must have been observed, if there are taps.
  virtual void propose(std::span<const DraftRequest> requests, std::span<decode::Proposal> proposals) = 0;
  // Forgets what was observed at positions from `length` on.
  virtual void settle(base::SequenceId sequence, std::int64_t length) = 0;
  virtual void end(base::SequenceId sequence) = 0;

  DraftObserver* observer = nullptr;  // may be null

  virtual DraftTimes times() const { return {}; }
  virtual std::int64_t weight_bytes() const { return 0; }
  // The bytes that it keeps for one observed position: to compare states. Empty if it keeps none.
  virtual std::vector<std::byte> state_bytes(base::SequenceId, std::int64_t) { return {}; }
};

}  // namespace outrider::draft
