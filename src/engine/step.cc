// One step, in the order of docs/architecture.md: plan, run the target, verify, commit, observe, propose.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "engine/engine.h"

namespace outrider::engine {
namespace {

tensor::MatrixView<float> grow(tensor::Buffer& buffer, std::int64_t rows, std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  if (buffer.size() < bytes) buffer = tensor::Buffer(bytes);
  return {buffer.as<float>(), rows, columns};
}

}  // namespace

bool Engine::step() {
  if (running_.empty() && waiting_.empty()) return false;
  plan_step();
  if (segments_.empty()) return true;  // somebody gave way or cannot be served: the next step goes on
  const bool prefills = std::any_of(segments_.begin(), segments_.end(),
                                    [](const Segment& s) { return !s.sequence->decoding(); });
  const base::Stopwatch watch(prefills ? figures_.prefill_seconds : figures_.decode_seconds);
  const std::int64_t output_before = figures_.output_tokens;
  double ignored = 0;
  {
    const base::Stopwatch target_watch(prefills ? ignored : figures_.verify_seconds);
    run_target();
  }
  for (Segment& segment : segments_) {
    segment.computed_before = segment.sequence->computed;
    verify_segment(segment);
  }
  {
    const base::Stopwatch draft_watch(figures_.draft_seconds);
    const base::Stopwatch decode_watch(prefills ? ignored : figures_.decode_draft_seconds);
    observe_commits();
    propose();
  }
  if (!prefills) figures_.decoded_tokens += figures_.output_tokens - output_before;
  retire_finished();
  ++figures_.steps;
  return true;
}

schedule::SequenceView Engine::view_of(const Sequence& sequence) const {
  return {.id = sequence.id,
          .token_count = static_cast<std::int64_t>(sequence.tokens.size()),
          .computed_count = sequence.computed,
          .block_count = sequence.table.block_count(),
          .freed_count = sequence.table.sole_count(),
          .token_limit = plan_.sequence_tokens_max,
          .draft_count = static_cast<std::int64_t>(sequence.proposal.tokens.size())};
}

// Asks schedule/ what to run, from numbers alone, and turns its answer into rows. Whoever must give way
// starts again from its first token: kernels are row-invariant, so that what it wrote before stays what it
// would write.
void Engine::plan_step() {
  segments_.clear();
  batch_.clear();
  views_.clear();
  for (const auto& sequence : running_) views_.push_back(view_of(*sequence));
  for (const auto& sequence : waiting_) views_.push_back(view_of(*sequence));
  const std::span<const schedule::SequenceView> views(views_);
  schedule::plan_step({.rows_max = plan_.step_rows_max,
                       .sequences_max = plan_.sequences_max,
                       .block_tokens = plan_.cache.block_tokens},
                      views.first(running_.size()), views.subspan(running_.size()), pool_.free_count(),
                      batch_scratch_, step_plan_);
  for (const base::SequenceId id : step_plan_.unservable) {
    find(waiting_, id).output.error =
        "needs more cache blocks than there are (" + std::to_string(pool_.block_count()) + ")";
  }
  for (const base::SequenceId id : step_plan_.preempted) preempt(id);
  for (const schedule::SequenceRows& rows : step_plan_.sequences) {
    if (rows.is_admitted) admit(rows.id);
    add_segment(find(running_, rows.id), rows);
  }
  retire_finished();
}

void Engine::add_segment(Sequence& sequence, const schedule::SequenceRows& rows) {
  const std::int64_t count = rows.token_rows + rows.draft_rows;
  const bool reserved = sequence.table.reserve(rows.first_position, rows.first_position + count, store_);
  OUTRIDER_CHECK_MSG(reserved, "the step's plan promised the blocks");
  segments_.push_back({.sequence = &sequence,
                       .first_row = batch_.row_count(),
                       .row_count = count,
                       .draft_count = static_cast<int>(rows.draft_rows),
                       .reaches_end = rows.yields_token});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = rows.first_position + i;
    const base::TokenId token = i < rows.token_rows
                                    ? sequence.tokens[static_cast<std::size_t>(position)]
                                    : sequence.proposal.tokens[static_cast<std::size_t>(i - rows.token_rows)];
    batch_.add(token, position, sequence.table.data());
  }
}

Sequence& Engine::find(const Sequences& sequences, base::SequenceId id) {
  const auto found =
      std::find_if(sequences.begin(), sequences.end(), [&](const auto& s) { return s->id == id; });
  OUTRIDER_CHECK(found != sequences.end());
  return **found;
}

void Engine::preempt(base::SequenceId id) {
  Sequence& sequence = find(running_, id);
  sequence.table.truncate(0);
  sequence.computed = 0;
  sequence.proposal.clear();
  if (drafter_) drafter_->settle(id, 0);
  move_between(running_, waiting_, id, /*to_front=*/true);
}

void Engine::admit(base::SequenceId id) { move_between(waiting_, running_, id, /*to_front=*/false); }

void Engine::move_between(Sequences& from, Sequences& to, base::SequenceId id, bool to_front) {
  const auto found = std::find_if(from.begin(), from.end(), [&](const auto& s) { return s->id == id; });
  to.insert(to_front ? to.begin() : to.end(), std::move(*found));
  from.erase(found);
}

bool Engine::needs_logits(const Sequence& sequence) const {
  const decode::SamplingParams& sampling = sequence.request.sampling;
  return !decode::is_greedy(sampling) || decode::reads_history(sampling) || !sampling.logit_bias.empty() ||
         sequence.request.logprobs.has_value() || plan_.accept == decode::AcceptMethod::Synthetic;
}

// The pass over all rows; then logits of the rows that decide a token, or only their argmax where every
// sequence is plainly greedy.
void Engine::run_target() {
  const std::int64_t rows = batch_.row_count(), width = plan_.shape.hidden_width;
  const std::span<const model::TapPoint> points =
      drafter_ ? drafter_->taps() : std::span<const model::TapPoint>{};
  const auto features = grow(features_, rows, static_cast<std::int64_t>(points.size()) * width);
  const auto hidden = grow(hidden_, rows, width);
  model_->forward(executor_, batch_, store_, {.points = points, .features = features}, hidden);

  std::int64_t logit_rows = 0;
  bool logits_needed = false;
  for (Segment& segment : segments_) {
    if (!segment.reaches_end) continue;
    segment.first_logit_row = logit_rows;
    logit_rows += 1 + segment.draft_count;
    logits_needed |= needs_logits(*segment.sequence);
  }
  const auto chosen = grow(logit_hidden_, logit_rows, width);
  for (const Segment& segment : segments_) {
    if (!segment.reaches_end) continue;
    const std::int64_t count = 1 + segment.draft_count;
    std::memcpy(chosen.row_range(segment.first_logit_row, count).data,
                hidden.row_range(segment.first_row + segment.row_count - count, count).data,
                static_cast<std::size_t>(count * width) * sizeof(float));
  }
  best_ids_.clear();
  if (logit_rows == 0) return;
  if (logits_needed) {
    kernels::linear(executor_, chosen, model_->head_weights(), {},
                    grow(logits_, logit_rows, plan_.shape.vocabulary));
  } else {
    best_ids_.resize(static_cast<std::size_t>(logit_rows));
    best_logits_.resize(static_cast<std::size_t>(logit_rows));
    kernels::linear_argmax(executor_, chosen, model_->head_weights(), best_ids_, best_logits_);
  }
}

void Engine::verify_segment(const Segment& segment) {
  Sequence& sequence = *segment.sequence;
  if (!segment.reaches_end) {
    sequence.computed += segment.row_count;
    return;
  }
  const auto verdict = judge(segment);
  if (!verdict.ok()) {
    sequence.output.error = verdict.error().message;
    return;
  }
  commit(segment, *verdict);
}

base::Result<decode::Verdict, base::Error> Engine::judge(const Segment& segment) {
  Sequence& sequence = *segment.sequence;
  if (best_ids_.empty()) {
    const tensor::MatrixView<const float> logits(
        logits_.as<float>() + segment.first_logit_row * plan_.shape.vocabulary, 1 + segment.draft_count,
        plan_.shape.vocabulary);
    const decode::AcceptRules& rules = plan_.draft ? plan_.draft->accept : plain_rules_;
    return decode::run_verify(rules,
                              {.logits = logits,
                               .proposal = sequence.proposal,
                               .params = sequence.request.sampling,
                               .position = static_cast<std::int64_t>(sequence.tokens.size())},
                              sequence.history, verify_scratch_);
  }
  const auto first = static_cast<std::size_t>(segment.first_logit_row);
  int accepted = 0;
  for (;; ++accepted) {
    const std::size_t row = first + static_cast<std::size_t>(accepted);
    if (!std::isfinite(best_logits_[row])) return base::Error{"the model's logits are not finite"};
    if (accepted == segment.draft_count) break;
    if (best_ids_[row] != sequence.proposal.tokens[static_cast<std::size_t>(accepted)]) break;
  }
  return decode::Verdict{.accepted_count = accepted,
                         .next_token = best_ids_[first + static_cast<std::size_t>(accepted)]};
}

// The tokens that a stop token, a length limit or the sink (a stop string) leaves of a commit.
void Engine::cut_commit(Sequence& sequence) {
  const std::vector<base::TokenId>& stops = sequence.request.stop_tokens;
  const auto stop = std::find_first_of(committed_.begin(), committed_.end(), stops.begin(), stops.end());
  if (stop != committed_.end()) {
    committed_.erase(stop + 1, committed_.end());
    sequence.output.finish = FinishReason::Stop;
  }
  const std::int64_t room =
      std::min(sequence.request.tokens_max - sequence.output_count(),
               plan_.sequence_tokens_max - static_cast<std::int64_t>(sequence.tokens.size()));
  const auto committed = static_cast<std::int64_t>(committed_.size());
  if (committed > room || (committed == room && !sequence.output.finish)) {
    committed_.resize(static_cast<std::size_t>(room));
    sequence.output.finish = FinishReason::Length;
  }
  if (sequence.sink == nullptr) return;
  const TokenSink::Answer answer = sequence.sink->on_tokens(committed_);
  if (answer.stop || answer.kept < committed_.size()) {
    committed_.resize(answer.kept);
    sequence.output.finish = FinishReason::Stop;
  }
}

void Engine::commit(const Segment& segment, const decode::Verdict& verdict) {
  Sequence& sequence = *segment.sequence;
  const auto anchor = static_cast<std::int64_t>(sequence.tokens.size()) - 1;
  count_round(segment, verdict);
  if (sequence.request.trace_rounds && sequence.decoding()) {
    sequence.output.rounds.push_back({.position = anchor,
                                      .anchor = sequence.tokens.back(),
                                      .drafted = sequence.proposal.tokens,
                                      .confidence = sequence.proposal.confidences,
                                      .accepted = verdict.accepted_count,
                                      .next = verdict.next_token});
  }
  committed_.assign(sequence.proposal.tokens.begin(),
                    sequence.proposal.tokens.begin() + verdict.accepted_count);
  committed_.push_back(verdict.next_token);
  cut_commit(sequence);
  for (std::size_t i = 0; sequence.request.logprobs && i < committed_.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) + segment.first_logit_row;
    const std::span<const float> logits(logits_.as<float>() + row * plan_.shape.vocabulary,
                                        static_cast<std::size_t>(plan_.shape.vocabulary));
    sequence.output.logprobs.push_back(
        decode::derive_logprobs(logits, committed_[i], *sequence.request.logprobs, verify_scratch_.sampling));
  }
  sequence.tokens.insert(sequence.tokens.end(), committed_.begin(), committed_.end());
  sequence.output.tokens.insert(sequence.output.tokens.end(), committed_.begin(), committed_.end());
  if (decode::reads_history(sequence.request.sampling)) sequence.history.append(committed_);
  figures_.output_tokens += static_cast<std::int64_t>(committed_.size());
  // The last committed token is the next anchor: it has not been run. Rejected rows are forgotten by a
  // length.
  sequence.computed = anchor + std::max<std::int64_t>(1, static_cast<std::int64_t>(committed_.size()));
  sequence.table.truncate(sequence.computed);
  sequence.proposal.clear();
}

void Engine::count_round(const Segment& segment, const decode::Verdict& verdict) {
  if (segment.draft_count == 0) return;
  if (governor_) {
    const Sequence& sequence = *segment.sequence;
    governor_->observe(sequence.id, segment.draft_count, verdict.accepted_count);
    if (!sequence.proposal.confidences.empty()) {
      calibration_.observe(sequence.proposal.confidences, segment.draft_count, verdict.accepted_count);
    }
  }
  ++figures_.rounds;
  figures_.verified_tokens += segment.draft_count;
  figures_.accepted_tokens += verdict.accepted_count;
  const auto positions = static_cast<std::size_t>(segment.draft_count);
  if (figures_.verified_by_position.size() < positions) {
    figures_.verified_by_position.resize(positions);
    figures_.accepted_by_position.resize(positions);
  }
  for (std::size_t i = 0; i < positions; ++i) {
    ++figures_.verified_by_position[i];
    figures_.accepted_by_position[i] += static_cast<int>(i) < verdict.accepted_count ? 1 : 0;
  }
}

// Committed rows only, each from the target's real features: a drafter's context has no holes and no rejected
// rows.
void Engine::observe_commits() {
  if (!drafter_) return;
  const std::int64_t columns = static_cast<std::int64_t>(drafter_->taps().size()) * plan_.shape.hidden_width;
  if (columns == 0) return;
  observations_.clear();
  for (const Segment& segment : segments_) {
    const Sequence& sequence = *segment.sequence;
    if (sequence.finished()) continue;
    observations_.push_back({.sequence = sequence.id,
                             .first_position = segment.computed_before,
                             .features = {features_.as<float>() + segment.first_row * columns,
                                          sequence.computed - segment.computed_before, columns}});
  }
  drafter_->observe(observations_);
}

void Engine::propose() {
  if (!drafter_) return;
  collect_draft_requests();
  if (proposing_.empty()) return;
  proposals_.resize(proposing_.size());
  drafter_->propose(draft_requests_, proposals_);
  for (const decode::Proposal& proposal : proposals_) {
    figures_.drafted_tokens += static_cast<std::int64_t>(proposal.tokens.size());
  }
  cut_proposals();
  for (std::size_t i = 0; i < proposing_.size(); ++i) {
    if (on_proposal) on_proposal(*proposing_[i], proposals_[i]);
    std::swap(proposing_[i]->proposal, proposals_[i]);
  }
}

// Who drafts, and how many tokens: N, or what the governor expects to pay, from earlier rounds alone.
void Engine::collect_draft_requests() {
  draft_requests_.clear();
  proposing_.clear();
  governor_requests_.clear();
  for (const auto& sequence : running_) {
    if (sequence->finished() || !sequence->decoding() || !sequence->proposal.tokens.empty()) continue;
    const std::int64_t room = plan_.sequence_tokens_max - static_cast<std::int64_t>(sequence->tokens.size());
    governor_requests_.push_back(
        {.id = sequence->id,
         .draft_max = static_cast<int>(std::min<std::int64_t>(drafter_->drafts_max(), room))});
    proposing_.push_back(sequence.get());
  }
  std::vector<int> counts;  // of the governor
  if (governor_ && !governor_requests_.empty()) counts = governor_->plan_drafts(governor_requests_, 0);
  for (std::size_t i = 0; i < proposing_.size(); ++i) {
    const int count = governor_ ? counts[i] : governor_requests_[i].draft_max;
    Sequence* sequence = proposing_[i];
    if (count == 0) {
      proposing_[i] = nullptr;
      continue;
    }
    draft_requests_.push_back({.sequence = sequence->id,
                               .tokens = sequence->tokens,
                               .sampling = &sequence->request.sampling,
                               .draft_count_max = count});
  }
  std::erase(proposing_, nullptr);
}

// How many of the drafts are worth their rows. A threshold and the early stop judge a draft without knowing
// it, so that they bias nothing; the best total over all lengths is for drafts that are a function of what
// came before (losslessness of the scheduler in the DSpark paper, arXiv 2607.05147).
void Engine::cut_proposals() {
  const auto keep = [](decode::Proposal& proposal, std::size_t count) {
    proposal.tokens.resize(count);
    proposal.q.resize(count);
    proposal.confidences.resize(count);
  };
  if (!drafter_->estimates_survival()) return;
  for (decode::Proposal& proposal : proposals_) {
    keep(proposal, decode::cut_by_confidence(proposal.confidences, plan_.draft->confidence_threshold));
  }
  if (!governor_) return;
  survival_.clear();
  bool are_drawn = false;
  for (std::size_t i = 0; i < proposals_.size(); ++i) {
    survival_.push_back(calibration_.apply(proposals_[i].confidences));
    for (const decode::Distribution& q : proposals_[i].q)
      are_drawn |= !std::holds_alternative<decode::OneHot>(q);
  }
  const schedule::StepCosts& costs = governor_->costs();
  const schedule::VerifyCosts verify{
      .verify = costs.verify,
      .spent_seconds = costs.draft_seconds(static_cast<std::int64_t>(proposals_.size()))};
  const bool is_free = !are_drawn || plan_.accept == decode::AcceptMethod::DrafterInvariant;
  const std::vector<int> lengths = is_free ? schedule::plan_lengths_argmax(survival_, verify)
                                           : schedule::plan_lengths_early_stop(survival_, verify);
  for (std::size_t i = 0; i < proposals_.size(); ++i) {
    keep(proposals_[i], static_cast<std::size_t>(lengths[i]));
    // Nothing will come back of this round: to the governor it is one whose first draft was not worth
    // verifying.
    if (lengths[i] == 0) governor_->observe(proposing_[i]->id, 1, 0);
  }
}

void Engine::retire_finished() {
  for (Sequences* sequences : {&running_, &waiting_}) {
    for (auto& sequence : *sequences) {
      if (!sequence->finished()) continue;
      sequence->table.truncate(0);
      if (drafter_) drafter_->end(sequence->id);
      if (governor_) governor_->forget(sequence->id);
      finished_.emplace(sequence->id, std::move(sequence));
    }
    std::erase(*sequences, nullptr);
  }
}

}  // namespace outrider::engine
