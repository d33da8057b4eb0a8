// The trained pair of models/ against DeepSpec's evaluator and transformers, float32 arithmetic on the bf16
// weights (models/README.md).
#include <gtest/gtest.h>

#include "support/golden.h"
#include "support/loaded.h"

namespace outrider::testing {
namespace {

TEST(SproutGolden, GreedyTextAndRoundsOfEveryPromptAgree) {
  plan::Intent settings = float32_settings();
  settings.target.max_model_len = 512;
  settings.target.max_num_seqs = 4;
  settings.draft = drafting();
  Loaded loaded = load(model_path("sprout"), model_path("sprout-dspark"), settings);
  const base::Json json = read_json(model_path("sprout/golden.json"));
  std::vector<engine::Request> requests;
  for (const base::Json& golden_case : *at(json, "cases").array()) {
    requests.push_back(
        greedy_request(ids_of(at(golden_case, "prompt_token_ids")), 129));  // the references draft once more
    requests.back().trace_rounds = true;
  }
  const auto outputs = run_all(*loaded.engine, requests);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const base::Json& golden_case = (*at(json, "cases").array())[i];
    SCOPED_TRACE(*at(golden_case, "prompt").string());
    EXPECT_EQ(std::vector(outputs[i].tokens.begin(), outputs[i].tokens.begin() + 128),
              ids_of(at(golden_case, "greedy_token_ids")));
    const base::Json::Array& rounds = *at(golden_case, "rounds").array();
    ASSERT_EQ(outputs[i].rounds.size(), rounds.size());
    for (std::size_t r = 0; r < rounds.size(); ++r) {
      SCOPED_TRACE("round " + std::to_string(r));
      EXPECT_EQ(outputs[i].rounds[r].position, integer_at(rounds[r], "anchor_position"));
      EXPECT_EQ(outputs[i].rounds[r].drafted, ids_of(at(rounds[r], "draft_token_ids")));
      EXPECT_EQ(outputs[i].rounds[r].accepted, integer_at(rounds[r], "num_accepted"));
      EXPECT_EQ(outputs[i].rounds[r].next, integer_at(rounds[r], "next_token"));
      const auto confidence = floats_of(at(rounds[r], "confidence"));
      ASSERT_EQ(outputs[i].rounds[r].confidence.size(), confidence.size());
      for (std::size_t k = 0; k < confidence.size(); ++k)
        EXPECT_NEAR(outputs[i].rounds[r].confidence[k], confidence[k], 1e-3f);
    }
  }
}

}  // namespace
}  // namespace outrider::testing
