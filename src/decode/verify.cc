#include "decode/verify.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace outrider::decode {
namespace {

using base::Error;
using base::Purpose;
using base::RandomStream;
using base::Result;
using base::TokenId;

// The judgement of one row: the draft stands, or `token` takes its place.
struct RowVerdict {
  bool accepted;
  TokenId token;
};

TokenId draw_plain(const Distribution& p, std::uint64_t seed, std::uint64_t position) {
  return draw(p, RandomStream(seed, position, Purpose::Target).uniform());
}

// u < p / q, written without a division by a q of zero. One-hot p needs no coin: greedy accepts iff the
// argmax is equal.
RowVerdict judge_by_ratio(const Distribution& p, TokenId draft, const Distribution& q, std::uint64_t seed,
                          std::uint64_t position) {
  if (const OneHot* one = std::get_if<OneHot>(&p)) return {.accepted = one->id == draft, .token = one->id};
  const double coin = RandomStream(seed, position, Purpose::Accept).uniform();
  if (coin * probability_of(q, draft) < probability_of(p, draft)) return {.accepted = true, .token = draft};
  const double uniform = RandomStream(seed, position, Purpose::Residual).uniform();
  return {.accepted = false, .token = draw_residual(p, q, uniform)};
}

TokenId draw_by_rules(const AcceptRules& rules, const Distribution& p, std::uint64_t seed,
                      std::uint64_t position) {
  if (rules.method != AcceptMethod::DrafterInvariant) return draw_plain(p, seed, position);
  return draw_by_shared_noise(p, SharedNoise(seed, position));
}

RowVerdict judge_row(const AcceptRules& rules, const Distribution& p, const Proposal& proposal,
                     std::size_t index, std::uint64_t seed, std::uint64_t position) {
  const TokenId draft = proposal.tokens[index];
  if (rules.method == AcceptMethod::Standard)
    return judge_by_ratio(p, draft, proposal.q[index], seed, position);
  const TokenId token = draw_by_rules(rules, p, seed, position);
  return {.accepted = token == draft, .token = token};
}

// One coin for the whole run gives every rate of the list, since rate i is that of all drafts up to i.
std::size_t draw_synthetic_count(const AcceptRules& rules, std::size_t draft_count, std::uint64_t seed,
                                 std::uint64_t position) {
  const double coin = RandomStream(seed, position, Purpose::Accept).uniform();
  std::size_t count = 0;
  while (count < std::min(draft_count, rules.synthetic_rates.size()) && coin < rules.synthetic_rates[count])
    ++count;
  return count;
}

}  // namespace

Result<Verdict, Error> run_verify(const AcceptRules& rules, const VerifyInput& input, TokenHistory& history,
                                  VerifyScratch& scratch) {
  const auto draft_count = static_cast<std::size_t>(input.logits.rows - 1);
  OUTRIDER_CHECK(input.logits.rows >= 1 && draft_count <= input.proposal.tokens.size());
  OUTRIDER_CHECK(input.proposal.q.size() == input.proposal.tokens.size() && input.position >= 0);
  const bool tracks_history = reads_history(input.params);
  const std::uint64_t seed = input.params.seed;
  std::size_t forced_count = 0;
  if (rules.method == AcceptMethod::Synthetic) {
    forced_count = draw_synthetic_count(rules, draft_count, seed, static_cast<std::uint64_t>(input.position));
  }
  Distribution& p = scratch.form_for(input.params);
  std::size_t index = 0;
  const auto judge = [&]() -> Result<TokenId, Error> {
    for (;; ++index) {
      const auto position = static_cast<std::uint64_t>(input.position) + index;
      const bool is_forced = index < forced_count;
      if (!is_forced) {
        const auto row = input.logits.row_span(static_cast<std::int64_t>(index));
        auto processed = process_logits(row, input.params, history, scratch.sampling, p);
        if (!processed.ok())
          return Error{"position " + std::to_string(position) + ": " + processed.error().message};
        if (index == draft_count || rules.method == AcceptMethod::Synthetic) {
          return draw_by_rules(rules, p, seed, position);
        }
        const RowVerdict verdict = judge_row(rules, p, input.proposal, index, seed, position);
        if (!verdict.accepted) return verdict.token;
      }
      if (tracks_history) history.append(input.proposal.tokens[index]);
    }
  };
  Result<TokenId, Error> next = judge();
  if (tracks_history) history.undo(index);
  if (!next.ok()) return std::move(next).error();
  return Verdict{.accepted_count = static_cast<int>(index), .next_token = *next};
}

}  // namespace outrider::decode
