// The flags of `outrider generate`: names are vLLM's. Words -> a value, with every problem.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/inspector.h"
#include "decode/sampling.h"
#include "plan/command_line.h"

namespace outrider::cli {

enum class PromptKind { Text, File, Ids };
struct PromptSource {
  PromptKind kind;
  std::string value;
};

struct GenerateOptions {
  plan::CommandLine command = {};  // what is to run; its problems were told
  std::vector<PromptSource> prompts = {};
  bool chat = false;
  std::optional<std::int64_t> tokens_max = {};
  decode::SamplingParams sampling = {};  // its seed is the plan's
  std::vector<std::string> stops = {};
  bool ignore_eos = false;
  std::optional<int> logprobs = {};
  bool json = false;
  bool trace_rounds = false;
  // Let the scheduler pick how many rows to draft and verify; absent: where there is a drafter and rounds are
  // not traced.
  std::optional<bool> adaptive = {};
  std::optional<std::string> cost_curve = {};
};

std::span<const base::Flag> generate_flags();
GenerateOptions parse_generate(std::span<const std::string> words, base::Inspector& inspector);

}  // namespace outrider::cli
