#include "cli/engine_flags.h"

#include <algorithm>
#include <thread>

#include "cli/flag_reader.h"
#include "cli/speculative_flags.h"

namespace outrider::cli {

EngineFlags read_engine_flags(const base::FlagValues& values, base::Inspector& inspector,
                              std::size_t sequences_max) {
  FlagReader reader(values, inspector);
  EngineFlags flags{.settings = {.target = kernels::best_target(), .thread_count = 1}};
  engine::EngineSettings& settings = flags.settings;
  using engine::DtypeChoice;
  const auto dtypes = {std::pair{"auto", DtypeChoice::Auto},
                       {"float32", DtypeChoice::Float32},
                       {"bfloat16", DtypeChoice::Bfloat16}};
  reader.choose("--dtype", dtypes, settings.dtype);
  reader.choose("--kv-cache-dtype", dtypes, settings.kv_dtype);
  using Format = std::optional<kernels::WeightFormat>;
  reader.choose(
      "--quantization",
      {std::pair{"int8", Format(kernels::WeightFormat::Int8)}, {"int4", Format(kernels::WeightFormat::Int4)}},
      settings.quantization);
  using checkpoint::LoadFormat;
  reader.choose(
      "--load-format",
      {std::pair{"auto", LoadFormat::Mmap}, {"mmap", LoadFormat::Mmap}, {"dummy", LoadFormat::Dummy}},
      flags.load_format);
  settings.sequence_tokens_max = reader.integer("--max-model-len", 1, INT32_MAX);
  settings.step_rows_max = reader.integer("--max-num-batched-tokens", 1, 1 << 20).value_or(2048);
  settings.sequences_max =
      reader.integer("--max-num-seqs", 1, 4096).value_or(static_cast<std::int64_t>(sequences_max));
  settings.block_tokens = static_cast<int>(reader.integer("--block-size", 1, 4096).value_or(16));
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  settings.thread_count = static_cast<int>(reader.integer("--num-threads", 1, 1024).value_or(cores));
  if (const std::string* name = values.text("--kernel-target")) {
    auto target = kernels::parse_target(*name);
    if (target.ok()) {
      settings.target = *target;
    } else {
      inspector.report_all(std::move(target).error());
    }
  }
  if (const std::string* name = values.text("--rejection-sample-method")) {
    auto method = decode::parse_accept_method(*name, "--rejection-sample-method");
    if (method.ok()) {
      settings.accept = *method;
    } else {
      inspector.report_all(std::move(method).error());
    }
  }
  if (const base::Json* overrides = values.json("--hf-overrides")) flags.overrides = *overrides;
  if (const base::Json* json = values.json("--speculative-config")) {
    if (auto speculative = parse_speculative(*json, inspector)) {
      settings.speculative = std::move(speculative->settings);
      flags.draft_model = std::move(speculative->model);
    }
  }
  if (settings.speculative && values.has("--rejection-sample-method") &&
      settings.accept != settings.speculative->accept) {
    reader.problem("--rejection-sample-method", *values.text("--rejection-sample-method"),
                   "differs from the speculative config's rejection_sample_method");
  }
  return flags;
}

}  // namespace outrider::cli
