// The whole way: pack sprout, load the packed form by mapping, and get the bytes that quantising while
// loading gives.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/open_model.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "engine/derive_engine_plan.h"
#include "engine/engine.h"
#include "model/families.h"

namespace outrider::cli {
namespace {

const std::string kTarget = std::string(OUTRIDER_MODELS) + "/sprout";
const std::string kDrafter = std::string(OUTRIDER_MODELS) + "/sprout-dspark";

class Quantize : public ::testing::Test {
 protected:
  Quantize()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
  }
  ~Quantize() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  static int quantize(const std::vector<std::string>& words) { return run_quantize(words); }

  std::filesystem::path folder_;
};

struct Run {
  Files files;
  std::unique_ptr<engine::Engine> engine;
};

Run open(const std::string& target, const std::string& drafter, const char* quantization) {
  plan::CommandLine command;
  plan::Intent& intent = command.intent;
  intent.use = plan::Use::Generate;
  intent.model = target;
  intent.target.num_threads = 1;
  intent.target.max_model_len = 256;
  if (quantization != nullptr) intent.target.quantization = quantization;
  if (!drafter.empty()) {
    intent.draft.emplace();
    intent.draft->model = drafter;
    intent.draft->quantization = intent.target.quantization;
  }
  auto files = open_files(command);
  EXPECT_TRUE(files.ok()) << base::to_string(files.error());
  const auto plan = plan_run(intent, files->facts);
  EXPECT_TRUE(plan.ok()) << base::to_string(plan.error());
  Run run{.files = std::move(*files), .engine = {}};
  std::optional<checkpoint::DrafterShape> shape;
  if (run.files.drafter) shape = run.files.drafter->shape;
  auto engine = engine::Engine::open(engine::derive_engine_plan(*plan, run.files.target.shape, shape),
                                     *run.files.target.weights,
                                     run.files.drafter ? run.files.drafter->weights.get() : nullptr);
  EXPECT_TRUE(engine.ok()) << base::to_string(engine.error());
  run.engine = std::move(*engine);
  return run;
}

engine::Output write(engine::Engine& engine) {
  const auto id = engine.submit(
      {.prompt = {1, 327, 202, 846, 455}, .sampling = {}, .tokens_max = 60, .trace_rounds = true}, nullptr);
  EXPECT_TRUE(id.ok());
  while (engine.step()) {
  }
  return engine.output(*id);
}

TEST_F(Quantize, GivesTheTokensAndDraftsThatQuantisingWhileLoadingGives) {
  for (const char* name : {"int8", "int4"}) {
    ASSERT_EQ(quantize({kTarget, at(name), "--quantization", name}), kDone);
    ASSERT_EQ(quantize({kDrafter, at(std::string("d") + name), "--quantization", name}), kDone);
    const engine::Output packed = write(*open(at(name), at(std::string("d") + name), nullptr).engine);
    const engine::Output loaded = write(*open(kTarget, kDrafter, name).engine);
    EXPECT_EQ(packed.tokens, loaded.tokens);
    ASSERT_EQ(packed.rounds.size(), loaded.rounds.size());
    for (std::size_t i = 0; i < packed.rounds.size(); ++i) {
      EXPECT_EQ(packed.rounds[i].drafted, loaded.rounds[i].drafted);
      EXPECT_EQ(packed.rounds[i].confidence, loaded.rounds[i].confidence);
    }
  }
  const engine::Output plain = write(*open(kTarget, "", nullptr).engine);
  EXPECT_NE(plain.tokens, write(*open(at("int4"), "", nullptr).engine).tokens);  // the comparison can fail
}

// Files are mapped, so that what points into them is no copy.
TEST_F(Quantize, MakesAFileWhoseMatricesAreNeverCopied) {
  ASSERT_EQ(quantize({kTarget, at("int4"), "--quantization", "int4"}), kDone);
  auto opened = checkpoint::open_model(at("int4"), {}, nullptr);
  ASSERT_TRUE(opened.ok());
  kernels::Executor executor(kernels::best_target(), 1, kernels::Arithmetic::Bfloat16);
  const auto data_of = [&](const std::vector<std::string>& names) {
    const auto packed = opened->weights->packed(names);
    return packed ? packed->bytes : nullptr;
  };
  auto model =
      model::load_model(executor, opened->shape, *opened->weights, {.position_count = 16, .load = {}});
  ASSERT_TRUE(model.ok());
  ASSERT_NE(data_of({"lm_head.weight"}), nullptr);
  EXPECT_EQ((*model)->head_weights().data(), data_of({"lm_head.weight"}));
  EXPECT_EQ((*model)->embedding_weights().data(), data_of({"model.embed_tokens.weight"}));
  model::WeightLoader loader(executor, *opened->weights, {});
  const std::string layer = "model.layers.3.", expert = layer + "mlp.experts.7.";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{layer + "self_attn.q_proj.weight"},
        {layer + "self_attn.k_proj.weight", layer + "self_attn.v_proj.weight"},
        {expert + "gate_proj.weight", expert + "up_proj.weight"},
        {expert + "down_proj.weight"}}) {
    ASSERT_NE(data_of(names), nullptr) << names.front();
    const kernels::PackedMatrix matrix = loader.matrix(names, model::MatrixUse::Layer);
    EXPECT_EQ(matrix.data(), data_of(names)) << names.front();
  }
  // The whole file is little more than what the model holds: nothing is in it twice.
  const auto file = static_cast<double>(std::filesystem::file_size(at("int4") + "/model.safetensors"));
  EXPECT_LE(file, 1.05 * static_cast<double>((*model)->weight_bytes()));
}

TEST_F(Quantize, RefusesToQuantiseAgainAndAnotherFormatWhileLoading) {
  ASSERT_EQ(quantize({kTarget, at("int8"), "--quantization", "int8"}), kDone);
  EXPECT_EQ(quantize({at("int8"), at("again"), "--quantization", "int8"}), kRefused);
  auto opened = checkpoint::open_model(at("int8"), {}, nullptr);
  ASSERT_TRUE(opened.ok());
  kernels::Executor executor(kernels::best_target(), 1, kernels::Arithmetic::Bfloat16);
  const auto load = [&](std::optional<kernels::WeightFormat> format) {
    return model::load_model(executor, opened->shape, *opened->weights,
                             {.position_count = 16, .load = {.quantization = format, .on_progress = {}}});
  };
  EXPECT_TRUE(load(kernels::WeightFormat::Int8).ok());
  const auto other = load(kernels::WeightFormat::Int4);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(base::to_string(other.error()).find("the weights are packed as int8"), std::string::npos);
}

TEST_F(Quantize, RefusesWhatItCannotDoBeforeItWrites) {
  EXPECT_EQ(quantize({kTarget}), kRefused);
  EXPECT_EQ(quantize({kTarget, at("out")}), kRefused);
  EXPECT_EQ(quantize({kTarget, at("out"), "--quantization", "int3"}), kRefused);
  EXPECT_EQ(quantize({at("nowhere"), at("out"), "--quantization", "int8"}), kRefused);
  EXPECT_FALSE(std::filesystem::exists(at("out")));
  std::filesystem::create_directories(at("full"));
  std::ofstream(at("full") + "/file") << "x";
  EXPECT_EQ(quantize({kTarget, at("full"), "--quantization", "int8"}), kRefused);
}

}  // namespace
}  // namespace outrider::cli
