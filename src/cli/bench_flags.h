// The flags of `outrider bench`. Words -> a value, with every problem.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/inspector.h"
#include "bench/bench.h"
#include "bench/settings.h"
#include "plan/command_line.h"

namespace outrider::cli {

struct BenchOptions {
  plan::CommandLine command = {};  // what is to run; its problems were told
  bench::Settings settings;
  std::optional<std::string> compare = {};  // an older run's JSON
  std::optional<std::string> prompts = {};  // a file of prompts as token ids, by kind
  std::optional<std::string> text = {};     // a held text, for `accuracy`
  bool json = false;

  bool has_model() const { return !command.intent.model.empty(); }
  bool has_draft_model() const { return command.intent.draft && command.intent.draft->model; }
};

std::span<const base::Flag> bench_flags();
BenchOptions parse_bench(std::span<const std::string> words, base::Inspector& inspector);

// Opens, plans and measures.
base::Result<bench::Report> measure_bench(const BenchOptions& options, const bench::Listener& listener);

// {"cases": [{"kind": TEXT, "prompt_token_ids": [..]}, ..]}, as models/sprout/golden.json holds them.
base::Result<std::vector<bench::Prompt>> parse_prompts(const base::Json& json, const std::string& source);

}  // namespace outrider::cli
