// The flags of `outrider generate`: names are vLLM's. Words -> a value, with every problem.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/inspector.h"
#include "checkpoint/open_model.h"
#include "engine/settings.h"

namespace outrider::cli {

enum class PromptKind { Text, File, Ids };
struct PromptSource {
  PromptKind kind;
  std::string value;
};

struct GenerateOptions {
  std::string model = {};
  std::optional<std::string> draft_model = {};
  checkpoint::LoadFormat load_format = checkpoint::LoadFormat::Mmap;
  std::optional<base::Json> overrides = {};
  engine::EngineSettings engine;
  std::vector<PromptSource> prompts = {};
  bool chat = false;
  std::optional<std::int64_t> tokens_max = {};
  decode::SamplingParams sampling = {};
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
