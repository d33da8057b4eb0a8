// DSpark and DFlash drafters against their reference implementations (tests/data/dspark/README.md,
// tests/data/dflash/README.md): features, context, block, logits, confidences of the first draft, and whole
// greedy runs round by round.
#include "draft/drafter.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "support/golden.h"
#include "support/loaded.h"

namespace outrider::testing {
namespace {

constexpr float kTolerance = 1e-4f;  // the READMEs'

std::vector<std::string> case_folders() {
  std::vector<std::string> folders;
  for (const char* kind : {"dspark", "dflash"}) {
    for (const auto& entry : std::filesystem::directory_iterator(data_path(kind))) {
      if (entry.is_directory()) folders.push_back(std::string(kind) + "/" + entry.path().filename().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Keeps the inner values of the first context and the first block.
struct FirstDraft final : draft::DraftObserver {
  std::map<draft::DraftStage, std::vector<tensor::Matrix>> seen;
  bool open = true;
  void observe(draft::DraftStage stage, tensor::MatrixView<const float> values) override {
    if (!open) return;
    tensor::Matrix copy(values.rows, values.columns);
    for (std::int64_t row = 0; row < values.rows; ++row)
      std::copy_n(values.row(row), values.columns, copy.view().row(row));
    seen[stage].push_back(std::move(copy));
  }
  // One row per draft, stacked.
  tensor::Matrix stacked(draft::DraftStage stage) {
    const auto& rows = seen[stage];
    if (rows.empty()) return {};
    tensor::Matrix all(static_cast<std::int64_t>(rows.size()), rows.front().columns());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(rows[i].view().row(0), all.columns(), all.view().row(static_cast<std::int64_t>(i)));
    }
    return all;
  }
};

class DrafterGolden : public ::testing::TestWithParam<std::string> {
 protected:
  std::string folder() const { return data_path(GetParam()); }
  Loaded load_case(int drafts, int slots) const {
    plan::Intent settings = float32_settings();
    settings.target.max_model_len = 160;
    settings.draft = drafting(drafts);
    settings.draft->block_size = slots;
    return load(folder() + "/target", folder() + "/drafter", settings);
  }
  base::Json json_ = read_json(data_path(GetParam()) + "/golden.json");
};

void check_round(const engine::Round& ours, const base::Json& golden) {
  EXPECT_EQ(ours.position, integer_at(golden, "anchor_position"));
  EXPECT_EQ(ours.anchor, integer_at(golden, "anchor_token"));
  EXPECT_EQ(ours.drafted, ids_of(at(golden, "draft_token_ids")));
  EXPECT_EQ(ours.accepted, integer_at(golden, "num_accepted"));
  EXPECT_EQ(ours.next, integer_at(golden, "next_token"));
  const base::Json* confidence = golden.find("confidence");
  if (confidence == nullptr || confidence->array() == nullptr) return;
  const auto expected = floats_of(*confidence);
  ASSERT_EQ(ours.confidence.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(ours.confidence[i], expected[i], kTolerance);
}

void check_run(const engine::Output& output, const base::Json& run) {
  EXPECT_EQ(output.error, "");
  if (const base::Json* expected = run.find("output_token_ids")) {
    EXPECT_EQ(output.tokens, ids_of(*expected));
  }
  const base::Json::Array& rounds = *at(run, "rounds").array();
  ASSERT_EQ(output.rounds.size(), rounds.size());
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    check_round(output.rounds[i], rounds[i]);
  }
}

engine::Output run_traced(Loaded& loaded, const base::Json& golden_case) {
  // The references draft as long as the anchor stands within 64 tokens of the prompt: the 65th token is
  // theirs to find too.
  engine::Request request = greedy_request(ids_of(at(golden_case, "prompt_token_ids")), 65);
  request.trace_rounds = true;
  engine::Output output = run_all(*loaded.engine, {request}).front();
  output.tokens.resize(64);
  return output;
}

void check_first_draft(FirstDraft& draft, const base::Json& golden_case, const GoldenTensors& golden) {
  const base::Json& names = at(golden_case, "tensors");
  const auto check = [&](const std::string& key, tensor::MatrixView<const float> ours) {
    const base::Json* name = names.find(key);
    if (name == nullptr || name->string() == nullptr) return;
    EXPECT_LT(largest_difference(ours, golden.floats(*name->string()).view()), kTolerance) << key;
  };
  using draft::DraftStage;
  ASSERT_FALSE(draft.seen[DraftStage::Context].empty());
  check("context", draft.seen[DraftStage::Context].front().view());
  check("block_hidden", draft.seen[DraftStage::BlockHidden].front().view());
  const auto& layers = draft.seen[DraftStage::LayerOutput];
  for (std::size_t i = 0; i < layers.size(); ++i) check("layer_out." + std::to_string(i), layers[i].view());
  check("base_logits", draft.stacked(DraftStage::BaseLogits).view());
  check("markov_bias", draft.stacked(DraftStage::MarkovBias).view());
  check("logits", draft.stacked(DraftStage::Logits).view());
}

TEST_P(DrafterGolden, FirstDraftAgreesInEveryTensor) {
  const GoldenTensors golden(folder() + "/golden.safetensors");
  for (const base::Json& golden_case : *at(json_, "cases").array()) {
    SCOPED_TRACE(*at(golden_case, "name").string());
    Loaded loaded = load_case(static_cast<int>(integer_at(json_, "num_drafts")),
                              static_cast<int>(integer_at(json_, "num_slots")));
    FirstDraft draft;
    const_cast<draft::Drafter*>(loaded.engine->drafter())->observer = &draft;
    auto id = loaded.engine->submit(greedy_request(ids_of(at(golden_case, "prompt_token_ids")), 64), nullptr);
    ASSERT_TRUE(id.ok());
    ASSERT_TRUE(loaded.engine->step());
    check_first_draft(draft, golden_case, golden);
  }
}

TEST_P(DrafterGolden, GreedyRunsAgreeRoundByRound) {
  Loaded loaded = load_case(static_cast<int>(integer_at(json_, "num_drafts")),
                            static_cast<int>(integer_at(json_, "num_slots")));
  for (const base::Json& golden_case : *at(json_, "cases").array()) {
    SCOPED_TRACE(*at(golden_case, "name").string());
    const engine::Output output = run_traced(loaded, golden_case);
    check_run(output, at(golden_case, "run"));
    EXPECT_EQ(output.tokens, ids_of(at(golden_case, "greedy_token_ids")));
  }
}

TEST_P(DrafterGolden, FewerOrMoreDraftsAndSlotsAgreeRoundByRound) {
  int runs = 0;
  for (const base::Json& golden_case : *at(json_, "cases").array()) {
    const base::Json* others = golden_case.find("other_runs");
    if (others == nullptr) continue;
    for (const base::Json& run : *others->array()) {
      const auto drafts = static_cast<int>(integer_at(run, "num_drafts")),
                 slots = static_cast<int>(integer_at(run, "num_slots"));
      SCOPED_TRACE(std::to_string(drafts) + " drafts of " + std::to_string(slots) + " slots");
      Loaded loaded = load_case(drafts, slots);
      check_run(run_traced(loaded, golden_case), run);
      ++runs;
    }
  }
  RecordProperty("runs", runs);
}

INSTANTIATE_TEST_SUITE_P(Cases, DrafterGolden, ::testing::ValuesIn(case_folders()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace outrider::testing
