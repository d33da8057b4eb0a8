// outrider quantize: a checkpoint's weights to 8 or 4 bits, once, in the form that loads by mapping.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/json_write.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "checkpoint/folder.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/open_model.h"
#include "checkpoint/packed_writer.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "cli/start.h"
#include "draft/block_drafter.h"
#include "engine/derive_engine_plan.h"
#include "model/families.h"
#include "plan/process.h"

namespace outrider::cli {
namespace {

constexpr std::string_view kAbout =
    "Writes the weights of DIR, a target or a block drafter, to the new folder OUT in 8 or 4 bits: one file\n"
    "that is mapped and never copied. Norms, router and small heads stay as they are; embedding and head\n"
    "have 8 bits in either. Tokenizer and settings are copied.";

// Hands everything that a model's builder asks for to the file.
class FileSink final : public model::WeightSink {
 public:
  explicit FileSink(checkpoint::PackedWriter& writer) : writer_(writer) {}
  void take_matrix(const std::vector<std::string>& names, std::span<const std::int64_t> rows,
                   kernels::PackedMatrix matrix) override {
    std::vector<checkpoint::PackedSource> sources;
    for (std::size_t i = 0; i < names.size(); ++i) sources.push_back({names[i], rows[i]});
    writer_.add_matrix(std::move(sources), matrix);
  }
  void take_plain(const std::string& name, const tensor::TensorView& view) override {
    writer_.add_plain(name, view);
  }

 private:
  checkpoint::PackedWriter& writer_;
};

// Stands where a drafter would find its target: its weights are written, not run.
class NoTarget final : public model::Model {
 public:
  explicit NoTarget(const checkpoint::ModelShape& shape) : shape_(shape) {}
  const checkpoint::ModelShape& shape() const override { return shape_; }
  void forward(kernels::Executor&, const model::Batch&, cache::KvStore&, const model::TapRequest&,
               tensor::MatrixView<float>, model::RoutingObserver*) override {
    OUTRIDER_CHECK_MSG(false, "nothing runs while weights are written");
  }
  const kernels::PackedMatrix& embedding_weights() const override { return none_; }
  const kernels::PackedMatrix& head_weights() const override { return none_; }
  std::int64_t weight_bytes() const override { return 0; }
  std::int64_t weight_bytes_per_row() const override { return 0; }

 private:
  const checkpoint::ModelShape& shape_;
  kernels::PackedMatrix none_;
};

// How it is written.
struct Packing {
  kernels::WeightFormat format;
  kernels::Target target;
  int thread_count;
};

// What is to be written: a target's shape or a drafter's.
struct Source {
  base::Json config;
  std::unique_ptr<const checkpoint::TensorSource> weights;
  std::optional<checkpoint::ModelShape> target;
  std::optional<checkpoint::DrafterShape> drafter;

  std::vector<checkpoint::TensorSpec> expected() const {
    return target ? checkpoint::expected_tensors(*target) : checkpoint::expected_tensors(*drafter);
  }
  tensor::Dtype weight_dtype() const {
    return target ? target->weight_dtype : drafter->backbone.weight_dtype;
  }
};

base::Result<Source> open_source(const std::string& path, const plan::Intent& intent) {
  const base::Json* overrides = intent.target.hf_overrides ? &*intent.target.hf_overrides : nullptr;
  const checkpoint::OpenOptions open{.load_format = load_format_of(intent), .overrides = overrides};
  OUTRIDER_TRY(base::Json config, checkpoint::load_config(path, overrides));
  if (checkpoint::is_drafter_config(config)) {
    OUTRIDER_TRY(checkpoint::OpenedDrafter opened, checkpoint::open_lone_drafter(path, open, print_warning));
    return Source{.config = std::move(opened.config),
                  .weights = std::move(opened.weights),
                  .target = std::nullopt,
                  .drafter = std::move(opened.shape)};
  }
  OUTRIDER_TRY(checkpoint::OpenedModel opened, checkpoint::open_model(path, open, print_warning));
  return Source{.config = std::move(opened.config),
                .weights = std::move(opened.weights),
                .target = std::move(opened.shape),
                .drafter = std::nullopt};
}

// The model's own builder says what is stacked with what, and what stays exact.
base::Result<base::Done> build(kernels::Executor& executor, const Source& source,
                               const model::LoadOptions& load) {
  if (source.target) {
    auto built =
        model::load_model(executor, *source.target, *source.weights, {.position_count = 1, .load = load});
    if (!built.ok()) return std::move(built).error();
    return base::Done{};
  }
  const NoTarget target(source.drafter->backbone);
  const draft::BlockPlan plan{.shape = *source.drafter,
                              .draft_tokens = source.drafter->drafts_per_block(),
                              .block_slots = source.drafter->block_size,
                              .method = decode::DraftSampleMethod::Greedy,
                              .accept = decode::AcceptMethod::Standard,
                              .cache = {.block_count = 1,
                                        .dtype = kernels::KvDtype::Bf16,
                                        .layers = draft::derive_draft_cache_layers(*source.drafter)},
                              .position_count = 1};
  auto built = draft::load_block_drafter(executor, plan, *source.weights, target, load);
  if (!built.ok()) return std::move(built).error();
  return base::Done{};
}

base::Json noted(base::Json config, kernels::WeightFormat format) {
  base::Json::Object note = {
      {"quant_method", base::Json(std::string("outrider"))},
      {"bits", base::Json(std::int64_t{format == kernels::WeightFormat::Int4 ? 4 : 8})},
      {"group_size", base::Json(std::int64_t{32})},
      {"packing_version", base::Json(std::int64_t{checkpoint::kPackingVersion})}};
  base::apply_merge_patch(
      config, base::Json(base::Json::Object{{"quantization_config", base::Json(std::move(note))}}));
  return config;
}

// Beside the weights: what the folder says of tokens and generation, as it stands.
base::Result<base::Done> copy_rest(const std::string& from, const std::string& to) {
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja",
        "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "LICENSE"}) {
    if (!checkpoint::is_folder(from)) break;
    OUTRIDER_TRY(const std::optional<std::string> file, checkpoint::find_in_folder(from, name));
    if (!file) continue;
    std::error_code error;
    std::filesystem::copy_file(*file, checkpoint::join_path(to, name), error);
    if (error) {
      return base::refuse(
          {.field = to + "/" + name, .found = error.message(), .rule = "cannot be written", .remedy = ""});
    }
  }
  return base::Done{};
}

base::Result<base::Done> make_folder(const std::string& out) {
  std::error_code error;
  std::filesystem::create_directories(out, error);
  const bool empty = !error && std::filesystem::is_empty(out, error);
  if (!error && empty) return base::Done{};
  return base::refuse({.field = "OUT",
                       .found = base::printable(out),
                       .rule = error ? "cannot be made: " + error.message() : "must be a new or empty folder",
                       .remedy = ""});
}

base::Result<base::Done> write_weights(const Source& source, const Packing& packing, const std::string& out) {
  const kernels::WeightFormat format = packing.format;
  const std::vector<checkpoint::TensorSpec> expected = source.expected();
  OUTRIDER_TRY(
      checkpoint::PackedWriter writer,
      checkpoint::PackedWriter::create(checkpoint::join_path(out, "model.safetensors"), format, expected));
  std::int64_t elements = 0;
  for (const checkpoint::TensorSpec& spec : expected) {
    std::int64_t count = spec.optional ? 0 : 1;
    for (const std::int64_t dimension : spec.shape) count *= dimension;
    elements += count;
  }
  FileSink sink(writer);
  ProgressBar bar("quantising", elements * tensor::bits_of(source.weight_dtype()) / 8);
  kernels::Executor executor(packing.target, packing.thread_count, kernels::Arithmetic::Float32);
  OUTRIDER_TRY_DONE(build(
      executor, source,
      {.quantization = format, .on_progress = [&](std::int64_t bytes) { bar.show(bytes); }, .sink = &sink}));
  // What a model of this shape must hold though the engine does not read it.
  for (const checkpoint::TensorSpec& spec : expected) {
    if (spec.optional || writer.has(spec.name)) continue;
    OUTRIDER_TRY(const checkpoint::HeldTensor held, source.weights->tensor(spec.name));
    writer.add_plain(spec.name, held.view);
  }
  return writer.finish();
}

base::Result<base::Done> quantize(const std::string& path, const std::string& out, const plan::Intent& intent,
                                  const Packing& packing) {
  OUTRIDER_TRY(const Source source, open_source(path, intent));
  OUTRIDER_TRY_DONE(make_folder(out));
  OUTRIDER_TRY_DONE(write_weights(source, packing, out));
  OUTRIDER_TRY_DONE(copy_rest(path, out));
  std::ofstream file(checkpoint::join_path(out, "config.json"));
  base::JsonWriter json;
  file << json.value(noted(source.config, packing.format)).text() << "\n";
  file.close();
  if (file) return base::Done{};
  return base::refuse(
      {.field = out + "/config.json", .found = "", .rule = "cannot be written", .remedy = ""});
}

std::optional<Packing> read_packing(const plan::Intent& intent, base::Inspector& inspector) {
  const auto process = plan::plan_process(intent, this_machine());
  if (!process.ok()) {
    for (const plan::Problem& problem : process.error().problems) inspector.report(typed(problem));
    return std::nullopt;
  }
  return Packing{.format = intent.target.quantization == "int8" ? kernels::WeightFormat::Int8
                                                                : kernels::WeightFormat::Int4,
                 .target = engine::kernel_target_of(process->kernel_target),
                 .thread_count = static_cast<int>(process->num_threads)};
}

}  // namespace

int run_quantize(std::span<const std::string> words) {
  static const std::vector<base::Flag> flags = plan::intent_flags(plan::Use::Quantize);
  if (printed_help(words, "quantize DIR OUT --quantization int8|int4 [flags]", kAbout, flags)) return kDone;
  base::Inspector inspector;
  const base::FlagValues values = base::parse_flags(words, flags, inspector);
  const plan::CommandLine command = plan::read_intent(values, plan::Use::Quantize);
  for (const plan::Problem& problem : command.problems) inspector.report(typed(problem));
  const std::vector<std::string>& paths = values.positionals();
  inspector.require(paths.size() == 2, {.field = "quantize",
                                        .found = std::to_string(paths.size()) + " paths",
                                        .rule = "needs two: the checkpoint's folder and the new one",
                                        .remedy = ""});
  inspector.require(
      values.has("--quantization"),
      {.field = "--quantization", .found = "", .rule = "is needed: int8 or int4", .remedy = ""});
  const std::optional<Packing> packing = read_packing(command.intent, inspector);
  if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
  const auto done = quantize(paths[0], paths[1], command.intent, *packing);
  return done.ok() ? kDone : print_refusal(done.error());
}

}  // namespace outrider::cli
