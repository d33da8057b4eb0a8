// The flags of `outrider bench`. Words -> a value, with every problem.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/inspector.h"
#include "bench/settings.h"
#include "cli/engine_flags.h"

namespace outrider::cli {

struct BenchOptions {
  std::optional<std::string> model = {};
  EngineFlags engine;
  bench::Settings settings;
  std::optional<std::string> compare = {};  // an older run's JSON
  std::optional<std::string> prompts = {};  // a file of prompts as token ids, by kind
  std::optional<std::string> text = {};     // a held text, for `accuracy`
  bool json = false;
};

std::span<const base::Flag> bench_flags();
BenchOptions parse_bench(std::span<const std::string> words, base::Inspector& inspector);

// {"cases": [{"kind": TEXT, "prompt_token_ids": [..]}, ..]}, as models/sprout/golden.json holds them.
base::Result<std::vector<bench::Prompt>> parse_prompts(const base::Json& json, const std::string& source);

}  // namespace outrider::cli
