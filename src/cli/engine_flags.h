// The flags that say what runs and how, the same for every command that runs a model: --speculative-config,
// --dtype, --quantization, --kv-cache-dtype, --load-format, --hf-overrides, --max-model-len,
// --rejection-sample-method, --max-num-batched-tokens, --max-num-seqs, --block-size, --num-threads,
// --kernel-target.
#pragma once

#include <optional>
#include <string>

#include "base/flags.h"
#include "base/inspector.h"
#include "checkpoint/open_model.h"
#include "engine/settings.h"

namespace outrider::cli {

struct EngineFlags {
  engine::EngineSettings settings;
  checkpoint::LoadFormat load_format = checkpoint::LoadFormat::Mmap;
  std::optional<base::Json> overrides = {};
  std::optional<std::string> draft_model = {};
};

// `sequences_max`: of --max-num-seqs where it is not given.
EngineFlags read_engine_flags(const base::FlagValues& values, base::Inspector& inspector,
                              std::size_t sequences_max);

}  // namespace outrider::cli
