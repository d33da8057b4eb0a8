#include "checkpoint/open_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/drafter_match.h"

namespace outrider::checkpoint {
namespace {

namespace fs = std::filesystem;
const fs::path kData = OUTRIDER_TEST_DATA;
const fs::path kModels = OUTRIDER_MODELS;

template <class T>
std::string fault_of(const base::Result<T>& result) {
  return result.ok() ? "accepted" : base::to_string(result.error());
}

// The folders below `kind` that hold a case.
std::vector<fs::path> cases_of(const char* kind) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(kData / kind)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  EXPECT_FALSE(folders.empty()) << kind;
  return folders;
}

TEST(OpenModel, OpensEveryTargetOfTheFixtures) {
  for (const char* kind : {"qwen3", "qwen3-moe"}) {
    for (const fs::path& folder : cases_of(kind)) {
      const fs::path model = fs::exists(folder / "config.json") ? folder : folder / "model";
      EXPECT_EQ(fault_of(open_model(model.string(), {}, nullptr)), "accepted") << model;
    }
  }
}

TEST(OpenModel, OpensEveryDrafterOfTheFixturesForItsTarget) {
  for (const char* kind : {"dspark", "dflash"}) {
    for (const fs::path& folder : cases_of(kind)) {
      const auto target = open_model((folder / "target").string(), {}, nullptr);
      ASSERT_TRUE(target.ok()) << fault_of(target);
      EXPECT_EQ(fault_of(open_drafter((folder / "drafter").string(), target->shape, {}, nullptr)), "accepted")
          << folder;
    }
  }
}

TEST(OpenModel, OpensTheModelsThatComeAlong) {
  const auto target = open_model((kModels / "sprout").string(), {}, nullptr);
  ASSERT_TRUE(target.ok()) << fault_of(target);
  EXPECT_TRUE(target->weights->has("model.embed_tokens.weight"));
  EXPECT_EQ(fault_of(open_drafter((kModels / "sprout-dspark").string(), target->shape, {}, nullptr)),
            "accepted");
}

TEST(OpenModel, RefusesADrafterOfAnotherTargetWithBothValues) {
  const auto target = open_model((kModels / "sprout").string(), {}, nullptr);
  ASSERT_TRUE(target.ok());
  const std::string fault =
      fault_of(open_drafter((kData / "dspark/ds_vanilla_g7/drafter").string(), target->shape, {}, nullptr));
  for (const char* words : {"hidden_size = 48: must be the target's, which is 256",
                            "vocab_size = 96: must be the target's, which is 8192"}) {
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
}

TEST(DrafterMatch, ComparesWidthVocabularyLayersTapsAndMask) {
  const auto target = open_model((kModels / "sprout").string(), {}, nullptr);
  const auto drafter = open_drafter((kModels / "sprout-dspark").string(), target->shape, {}, nullptr);
  ASSERT_TRUE(drafter.ok()) << fault_of(drafter);
  ModelShape other = target->shape;
  other.hidden_width = 512;
  other.vocabulary = 3;
  other.layers.pop_back();
  other.layers.pop_back();
  base::Inspector inspector;
  check_drafter_match(drafter->shape, other, "c", inspector);
  ASSERT_EQ(inspector.problems().size(), 5u);
  EXPECT_EQ(inspector.problems()[2].found, "6");
  EXPECT_EQ(inspector.problems()[3].found, "[0, 2, 4]");
  base::Inspector clean;
  check_drafter_match(drafter->shape, target->shape, "c", clean);
  EXPECT_TRUE(clean.clean());
}

TEST(OpenModel, RefusesADrafterAsATarget) {
  const std::string fault = fault_of(open_model((kModels / "sprout-dspark").string(), {}, nullptr));
  EXPECT_NE(fault.find("--speculative-config"), std::string::npos) << fault;
}

TEST(OpenModel, JoinsTheEndTokensOfBothConfigs) {
  const fs::path folder = fs::path(testing::TempDir()) / ("outrider_ends_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::copy(kData / "hostile/config/base_qwen3", folder);
  std::ofstream(folder / "generation_config.json") << R"({"eos_token_id":[7,1,3]})";
  const auto model = open_model(folder.string(), {}, nullptr);
  ASSERT_TRUE(model.ok()) << fault_of(model);
  EXPECT_EQ(model->end_token_ids, (std::vector<base::TokenId>{1, 3, 7}));
  std::ofstream(folder / "generation_config.json") << R"({"eos_token_id":24})";
  EXPECT_NE(fault_of(open_model(folder.string(), {}, nullptr)).find("eos_token_id = 24"), std::string::npos);
  fs::remove(folder / "generation_config.json");
  fs::create_symlink("/etc/passwd", folder / "generation_config.json");
  EXPECT_NE(fault_of(open_model(folder.string(), {}, nullptr)).find("must not leave the folder"),
            std::string::npos);
  fs::remove_all(folder);
}

TEST(OpenModel, AppliesOverridesBeforeTheShapeIsRead) {
  const auto patch = base::parse_json(R"({"rope_theta":5000,"hidden_size":16})", "--hf-overrides");
  const auto model =
      open_model((kData / "hostile/config/base_qwen3").string(), {.overrides = &*patch}, nullptr);
  EXPECT_NE(fault_of(model).find("[24, 8]"), std::string::npos) << fault_of(model);
  const auto theta = base::parse_json(R"({"rope_theta":5000})", "--hf-overrides");
  EXPECT_EQ(open_model((kData / "hostile/config/base_qwen3").string(), {.overrides = &*theta}, nullptr)
                ->shape.rope.theta,
            5000);
}

TEST(OpenModel, NamesTheConfigsLayerCountAgainstTheWeights) {
  const auto patch = base::parse_json(R"({"num_hidden_layers":1})", "--hf-overrides");
  const std::string fault =
      fault_of(open_model((kData / "hostile/config/base_qwen3").string(), {.overrides = &*patch}, nullptr));
  EXPECT_NE(fault.find("num_hidden_layers = 1: the weights hold 2 layers"), std::string::npos) << fault;
  EXPECT_NE(fault.find("model.layers.1."), std::string::npos);
}

TEST(OpenModel, DoesNotListAMillionTensorsThatAFewDigitsAskFor) {
  const auto patch = base::parse_json(R"({"num_hidden_layers":100,"num_experts":8000})", "--hf-overrides");
  const std::string fault = fault_of(
      open_model((kData / "hostile/config/base_qwen3_moe").string(), {.overrides = &*patch}, nullptr));
  EXPECT_NE(fault.find("num_experts: the weights hold 24, in 1 layers"), std::string::npos) << fault;
}

TEST(OpenModel, MakesDummyWeightsFromAConfigAlone) {
  const std::string config = (kData / "hostile/config/base_qwen3_moe/config.json").string();
  const auto model = open_model(config, {.load_format = LoadFormat::Dummy}, nullptr);
  ASSERT_TRUE(model.ok()) << fault_of(model);
  const auto held = model->weights->tensor("model.layers.0.mlp.experts.3.down_proj.weight");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->view.shape, (std::vector<std::int64_t>{8, 8}));
  EXPECT_NE(fault_of(open_model(config, {}, nullptr)).find("must be a folder"), std::string::npos);
  const auto target = open_model((kModels / "sprout").string(), {.load_format = LoadFormat::Dummy}, nullptr);
  EXPECT_EQ(fault_of(open_drafter((kModels / "sprout-dspark").string(), target->shape,
                                  {.load_format = LoadFormat::Dummy}, nullptr)),
            "accepted");
}

}  // namespace
}  // namespace outrider::checkpoint
