// What steps cost on this machine with these weights: the scheduler's yardstick. Cached keys and values of a
// short context stand for all; their content does not matter to the time, so that blocks are taken as they
// are and given back.
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"

namespace outrider::engine {
namespace {

constexpr std::int64_t kContext = 32;  // positions before the rows that are timed

// The best of up to 25 runs, no longer than `seconds` but for the first: what else the machine does makes a
// run slower, never faster, and a curve that is kept must not keep a disturbance. A large model has time for
// one run only, so that scratch must have grown and pages been touched before.
template <class Body>
double time_of(double seconds, Body&& body) {
  double best = 0;
  const double start = base::seconds_now();
  for (int run = 0; run < 25; ++run) {
    const double before = base::seconds_now();
    if (run > 0 && before - start + best > seconds) break;
    body();
    const double took = base::seconds_now() - before;
    best = run == 0 ? took : std::min(best, took);
  }
  return best;
}

}  // namespace

schedule::StepCosts Engine::measure_costs(double seconds) {
  OUTRIDER_CHECK_MSG(running_.empty() && waiting_.empty(), "costs are measured while nothing runs");
  const int drafts = drafter_ ? drafter_->drafts_max() : 0;
  const std::int64_t room =
      std::min(plan_.sequence_tokens_max, pool_.free_count() * plan_.cache.block_tokens);
  const std::int64_t context = std::max<std::int64_t>(1, std::min(kContext, room - 1 - drafts));
  std::vector<std::int64_t> sizes = {1};
  for (std::int64_t rows = 2; rows < 1 + drafts; rows *= 2) sizes.push_back(rows);
  if (drafts > 0) sizes.push_back(1 + drafts);
  std::erase_if(sizes,
                [&](std::int64_t rows) { return context + rows > room || rows > plan_.step_rows_max; });
  if (sizes.empty()) sizes.push_back(1);
  const double share = seconds / static_cast<double>(sizes.size() + 1);

  Sequence probe{.id = base::SequenceId{0},
                 .request = {.prompt = {0}, .sampling = {}, .tokens_max = 1},
                 .sink = nullptr,
                 .tokens = std::vector<base::TokenId>(static_cast<std::size_t>(context + 1), 0),
                 .table = cache::BlockTable(pool_, plan_.cache.block_tokens),
                 .history = {}};
  const bool reserved = probe.table.reserve(0, context + sizes.back(), store_);
  OUTRIDER_CHECK(reserved);
  std::vector<schedule::CostPoint> verify;
  place_probe(probe, context, sizes.back());
  run_target();
  for (const std::int64_t rows : sizes) {
    place_probe(probe, context, rows);
    verify.push_back({.count = rows, .seconds = time_of(share, [&] { run_target(); })});
  }
  segments_.clear();
  schedule::CostPoint draft{.count = 1, .seconds = 1e-9};
  if (drafts > 0) draft.seconds += time_of_draft(probe, share);
  return {.verify = schedule::CostCurve(schedule::CurveShape::Linear, std::move(verify)),
          .draft = schedule::CostCurve(schedule::CurveShape::Linear, {draft})};
}

// Tokens spread over the vocabulary, so that a mixture of experts reads what unlike rows read.
void Engine::place_probe(Sequence& probe, std::int64_t context, std::int64_t rows) {
  segments_.assign(1, {.sequence = &probe,
                       .first_row = 0,
                       .row_count = rows,
                       .draft_count = static_cast<int>(rows - 1),
                       .reaches_end = true});
  batch_.clear();
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto token = static_cast<base::TokenId>((1 + i * 7919) % plan_.shape.vocabulary);
    batch_.add(token, context + i, probe.table.data());
  }
}

double Engine::time_of_draft(const Sequence& probe, double seconds) {
  const auto context = static_cast<std::int64_t>(probe.tokens.size()) - 1;
  const std::int64_t columns = static_cast<std::int64_t>(drafter_->taps().size()) * plan_.shape.hidden_width;
  const tensor::Matrix features(context, columns);
  drafter_->begin(probe.id);
  const draft::Observation seen{.sequence = probe.id, .first_position = 0, .features = features.view()};
  if (columns > 0) drafter_->observe({&seen, 1});
  const draft::DraftRequest request{.sequence = probe.id,
                                    .tokens = probe.tokens,
                                    .sampling = &probe.request.sampling,
                                    .draft_count_max = drafter_->drafts_max()};
  decode::Proposal proposal;
  const auto propose = [&] { drafter_->propose({&request, 1}, {&proposal, 1}); };
  propose();
  const double measured = time_of(seconds, propose);
  drafter_->end(probe.id);
  return measured;
}

// Hope before anything is seen: a few drafts too many cost little, and a drafter that is never tried gains
// nothing.
constexpr schedule::GovernorOptions kOptions{.belief = {.acceptance = 0.9, .weight = 2}};

void Engine::adapt(schedule::StepCosts costs) {
  if (!drafter_) return;
  governor_.emplace(std::move(costs), kOptions);
  calibration_ = {};
}

}  // namespace outrider::engine
