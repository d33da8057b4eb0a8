// After any pattern of acceptance the caches, target's and drafter's, equal byte for byte those of a run that
// never drafted.
#include <gtest/gtest.h>

#include <algorithm>

#include "equivalence/matrix.h"

namespace outrider::testing {
namespace {

class State : public ::testing::TestWithParam<std::string> {};

// Runs steps until `count` positions are computed, and gives their bytes.
std::vector<std::vector<std::byte>> states_after(Loaded& loaded, const std::vector<base::TokenId>& prompt,
                                                 std::int64_t count) {
  const auto id = loaded.engine->submit(greedy_request(prompt, 60), nullptr);
  OUTRIDER_CHECK(id.ok());
  while (loaded.engine->computed_count(*id) < count) OUTRIDER_CHECK(loaded.engine->step());
  std::vector<std::vector<std::byte>> states;
  for (std::int64_t position = 0; position < count; ++position)
    states.push_back(loaded.engine->state_bytes(*id, position));
  return states;
}

TEST_P(State, EqualsThatOfARunThatNeverDrafted) {
  const Pair pair{GetParam()};
  const auto prompt = pair.prompts()[1];
  const auto count = static_cast<std::int64_t>(prompt.size()) + 35;
  plan::Intent settings = bf16_settings();
  settings.draft = drafting(7);
  Loaded quiet = load(pair.target(), pair.drafter(), settings);
  quiet.engine->on_proposal = [](const engine::Sequence&, decode::Proposal& proposal) {
    proposal.tokens.clear();  // the drafter observes, and nothing that it drafts is run
    proposal.q.clear();
    proposal.confidences.clear();
  };
  const auto expected = states_after(quiet, prompt, count);
  ASSERT_FALSE(expected.front().empty());
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Loaded loaded = load(pair.target(), pair.drafter(), settings);
    loaded.engine->on_proposal = spoil(seed, static_cast<int>(loaded.target.shape.vocabulary));
    EXPECT_EQ(states_after(loaded, prompt, count), expected) << "seed " << seed;
    EXPECT_GT(loaded.engine->figures().verified_tokens, loaded.engine->figures().accepted_tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, State, ::testing::ValuesIn(drafter_cases()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace outrider::testing
