#include "cli/inspect.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/json.h"

namespace outrider::cli {
namespace {

namespace fs = std::filesystem;
const std::string kData = OUTRIDER_TEST_DATA;
const std::string kModels = OUTRIDER_MODELS;

base::Json json_of(const std::string& path) {
  return base::parse_json(inspection_json(checkpoint::inspect(path)), "out").value();
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Inspect, ShowsATargetTensorByTensor) {
  const base::Json json = json_of(kData + "/hostile/config/base_qwen3_moe");
  EXPECT_EQ(*json.find("kind")->string(), "target");
  EXPECT_EQ(*json.find("family")->string(), "qwen3_moe");
  // By hand: embedding and head 2 x 24 x 8; q, o 2 x 64, k, v 2 x 32, head norms 2 x 4; layer norms 2 x 8,
  // last norm 8; router 4 x 8; four experts of 3 x 64, of which a token meets two. It meets one row
  // of the embedding, which does not count.
  EXPECT_EQ(*json.find("parameters")->integer(), 384 + 128 + 64 + 8 + 16 + 8 + 32 + 768);
  EXPECT_EQ(*json.find("active_parameters")->integer(), *json.find("parameters")->integer() - 384 - 192);
  EXPECT_TRUE(json.find("problems")->array()->empty());
  bool found = false;
  for (const base::Json& tensor : *json.find("tensors")->array()) {
    if (*tensor.find("name")->string() != "model.layers.0.mlp.gate.weight") continue;
    found = true;
    EXPECT_EQ(tensor.find("shape")->excerpt(), "[4,8]");
    EXPECT_EQ(*tensor.find("dtype")->string(), "BF16");
    EXPECT_EQ(*tensor.find("bytes")->integer(), 64);
    EXPECT_EQ(*tensor.find("file")->string(), "model.safetensors");
    EXPECT_GT(*tensor.find("offset")->integer(), 8);
  }
  EXPECT_TRUE(found);
}

TEST(Inspect, SaysWhatADrafterNeedsOfItsTarget) {
  const base::Json json = json_of(kModels + "/sprout-dspark");
  EXPECT_EQ(*json.find("drafter")->find("method")->string(), "dspark");
  EXPECT_EQ(json.find("needs")->find("taps")->excerpt(), "[0,2,4]");
  EXPECT_EQ(*json.find("needs")->find("hidden_size")->integer(), 256);
  EXPECT_EQ(*json.find("needs")->find("vocab_size")->integer(), 8192);
  const std::string text = inspection_text(checkpoint::inspect(kData + "/dspark/ds_shared_embed_g7/drafter"));
  EXPECT_TRUE(contains(text, "embedding       yes") && contains(text, "head            yes")) << text;
}

TEST(Inspect, ReadsABareFileAndSaysWhatItDoesNotKnow) {
  const auto found = checkpoint::inspect(kData + "/hostile/safetensors/ok_dtypes.safetensors");
  EXPECT_TRUE(found.problems.empty());
  const std::string text = inspection_text(found);
  EXPECT_TRUE(contains(text, "F8_E4M3") && contains(text, "not known: the architecture")) << text;
}

TEST(Inspect, ShowsTheTensorsOfAFamilyThatNobodyKnows) {
  const fs::path folder = fs::path(testing::TempDir()) / ("outrider_inspect_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::copy(kData + "/hostile/config/base_qwen3", folder);
  fs::copy_file(kData + "/hostile/config/architecture_unknown.json", folder / "config.json",
                fs::copy_options::overwrite_existing);
  const auto found = checkpoint::inspect(folder.string());
  fs::remove_all(folder);
  const std::string text = inspection_text(found);
  EXPECT_TRUE(contains(text, "not known: the shape")) << text;
  EXPECT_TRUE(contains(text, "Qwen9HyperForCausalLM") && contains(text, "model.norm.weight")) << text;
  EXPECT_TRUE(contains(base::to_string(base::Refusal{found.problems}), "architectures"));
}

TEST(Inspect, EscapesNamesThatWouldSteerATerminal) {
  const auto found = checkpoint::inspect(kData + "/hostile/safetensors/name_with_controls.safetensors");
  ASSERT_FALSE(found.problems.empty());
  EXPECT_EQ(base::to_string(base::Refusal{found.problems}).find('\x1b'), std::string::npos);
  EXPECT_EQ(inspection_json(found).find('\x1b'), std::string::npos);
}

TEST(Inspect, ListsWhatWouldKeepTheEngineFromLoading) {
  const auto found = checkpoint::inspect(kData + "/hostile/index/shard_missing");
  EXPECT_FALSE(found.checkpoint.has_value());
  EXPECT_TRUE(contains(base::to_string(base::Refusal{found.problems}), "model-00002-of-00002.safetensors"));
}

}  // namespace
}  // namespace outrider::cli
