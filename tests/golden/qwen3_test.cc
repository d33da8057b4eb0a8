// Qwen3 and Qwen3-MoE against transformers' float32 arithmetic on the stored weights
// (tests/data/qwen3/README.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "model/families.h"
#include "support/golden.h"
#include "support/loaded.h"

namespace outrider::testing {
namespace {

constexpr float kTolerance = 2e-4f;  // the README's, for another order of summation

std::vector<std::string> case_folders() {
  std::vector<std::string> folders;
  for (const char* family : {"qwen3", "qwen3-moe"}) {
    for (const auto& entry : std::filesystem::directory_iterator(data_path(family))) {
      if (entry.is_directory())
        folders.push_back(std::string(family) + "/" + entry.path().filename().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

struct RouterTrace final : model::RoutingObserver {
  struct Layer {
    tensor::Matrix logits, weights;
    std::vector<std::int32_t> ids;
  };
  std::map<int, Layer> layers;

  void observe(int layer, tensor::MatrixView<const float> logits, tensor::MatrixView<const std::int32_t> ids,
               tensor::MatrixView<const float> weights) override {
    Layer& seen = layers[layer];
    seen.logits = tensor::Matrix(logits.rows, logits.columns);
    seen.weights = tensor::Matrix(weights.rows, weights.columns);
    for (std::int64_t row = 0; row < logits.rows; ++row) {
      std::copy_n(logits.row(row), logits.columns, seen.logits.view().row(row));
      std::copy_n(weights.row(row), weights.columns, seen.weights.view().row(row));
      seen.ids.insert(seen.ids.end(), ids.row(row), ids.row(row) + ids.columns);
    }
  }
};

class Qwen3Golden : public ::testing::TestWithParam<std::tuple<std::string, kernels::Target>> {
 protected:
  std::string folder() const { return data_path(std::get<0>(GetParam())); }
  plan::Intent settings() const {
    plan::Intent settings = float32_settings();
    settings.target.kernel_target = kernels::name_of(std::get<1>(GetParam()));
    settings.target.max_model_len = 128;
    settings.target.max_num_seqs = 4;
    return settings;
  }
};

// One pass over the whole prompt, all layers tapped.
void check_tensors(Loaded& loaded, const base::Json& golden_case, const GoldenTensors& golden) {
  const auto prompt = ids_of(at(golden_case, "prompt_token_ids"));
  const auto rows = static_cast<std::int64_t>(prompt.size());
  const checkpoint::ModelShape& shape = loaded.target.shape;
  const auto layers = static_cast<int>(shape.layers.size());
  engine::Engine& engine = *loaded.engine;
  cache::KvStore store(engine.plan().cache);
  cache::BlockPool pool(engine.plan().cache.block_count);
  cache::BlockTable table(pool, engine.plan().cache.block_tokens);
  ASSERT_TRUE(table.reserve(0, rows, store));
  model::Batch batch;
  for (std::int64_t i = 0; i < rows; ++i) batch.add(prompt[static_cast<std::size_t>(i)], i, table.data());
  std::vector<model::TapPoint> taps = {{0, model::TapSide::Input}};
  for (int i = 0; i < layers; ++i) taps.push_back({i, model::TapSide::Output});
  tensor::Matrix features(rows, static_cast<std::int64_t>(taps.size()) * shape.hidden_width);
  tensor::Matrix hidden(rows, shape.hidden_width), logits(rows, shape.vocabulary);
  RouterTrace routers;
  auto& model = const_cast<model::Model&>(engine.model());
  model.forward(engine.executor(), batch, store, {.points = taps, .features = features.view()}, hidden.view(),
                &routers);
  kernels::linear(engine.executor(), hidden.view(), model.head_weights(), {}, logits.view());

  const base::Json& names = at(golden_case, "tensors");
  const auto difference = [&](const std::string& key, tensor::MatrixView<const float> ours) {
    return largest_difference(ours, golden.floats(*at(names, key).string()).view());
  };
  EXPECT_LT(difference("hidden_input", features.view().column_range(0, shape.hidden_width)), kTolerance);
  for (int i = 0; i < layers; ++i) {
    const auto ours = features.view().column_range((i + 1) * shape.hidden_width, shape.hidden_width);
    EXPECT_LT(difference("hidden_after_layer_" + std::to_string(i), ours), kTolerance) << "layer " << i;
    const std::string suffix = "_layer_" + std::to_string(i);
    if (names.find("router_ids" + suffix) == nullptr) continue;
    EXPECT_LT(difference("router_logits" + suffix, routers.layers.at(i).logits.view()), kTolerance);
    EXPECT_LT(difference("router_weights" + suffix, routers.layers.at(i).weights.view()), kTolerance);
    EXPECT_EQ(routers.layers.at(i).ids, golden.integers(*at(names, "router_ids" + suffix).string()));
  }
  EXPECT_LT(difference("final_norm", hidden.view()), kTolerance);
  EXPECT_LT(difference("logits", logits.view()), kTolerance);
}

void check_continuation(const engine::Output& output, const base::Json& golden_case) {
  EXPECT_EQ(output.error, "");
  EXPECT_EQ(output.tokens, ids_of(at(golden_case, "greedy_token_ids")));
  const auto logprobs = floats_of(at(golden_case, "greedy_logprobs"));
  ASSERT_EQ(output.logprobs.size(), logprobs.size());
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    EXPECT_NEAR(output.logprobs[i].chosen, logprobs[i], kTolerance);
    const auto top_ids = ids_of((*at(golden_case, "greedy_top5_ids").array())[i]);
    const auto top = floats_of((*at(golden_case, "greedy_top5_logprobs").array())[i]);
    ASSERT_EQ(output.logprobs[i].top.size(), top.size());
    for (std::size_t j = 0; j < top.size(); ++j) {
      EXPECT_NEAR(output.logprobs[i].top[j].logprob, top[j], kTolerance);
      // Neighbours closer than the tolerance may stand the other way round.
      const bool close = (j > 0 && top[j - 1] - top[j] < kTolerance) ||
                         (j + 1 < top.size() && top[j] - top[j + 1] < kTolerance);
      if (!close) {
        EXPECT_EQ(output.logprobs[i].top[j].id, top_ids[j]);
      }
    }
  }
}

TEST_P(Qwen3Golden, EveryLayerAgreesOnEveryPosition) {
  Loaded loaded = load(folder(), "", settings());
  const GoldenTensors golden(folder() + "/golden.safetensors");
  const base::Json json = read_json(folder() + "/golden.json");
  for (const base::Json& golden_case : *at(json, "cases").array()) {
    SCOPED_TRACE(*at(golden_case, "name").string());
    check_tensors(loaded, golden_case, golden);
  }
}

TEST_P(Qwen3Golden, GreedyTextAndLogprobsAgreeWhenAllPromptsRunAsOneBatch) {
  Loaded loaded = load(folder(), "", settings());
  const base::Json json = read_json(folder() + "/golden.json");
  std::vector<engine::Request> requests;
  for (const base::Json& golden_case : *at(json, "cases").array()) {
    requests.push_back(greedy_request(ids_of(at(golden_case, "prompt_token_ids")), 48));
    requests.back().logprobs = 5;
  }
  const auto outputs = run_all(*loaded.engine, requests);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE(*at((*at(json, "cases").array())[i], "name").string());
    check_continuation(outputs[i], (*at(json, "cases").array())[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Qwen3Golden,
                         ::testing::Combine(::testing::ValuesIn(case_folders()),
                                            ::testing::ValuesIn(kernels::available_targets())),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" +
                                              std::string(kernels::name_of(std::get<1>(test.param)));
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace outrider::testing
