// What a run prints at its end: the JSON contract of `generate --json`, and one line of figures.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_write.h"
#include "engine/figures.h"
#include "engine/request.h"

namespace outrider::cli {

struct SequenceReport {
  std::vector<base::TokenId> prompt;
  engine::Output output;
  std::string text;
};

struct ReportParts {
  bool logprobs, rounds;
};
std::string json_report(std::span<const SequenceReport> sequences, const engine::Figures& figures,
                        const ReportParts& parts);
std::string figures_line(const engine::Figures& figures);
void write_figures(base::JsonWriter& json, const engine::Figures& figures);

}  // namespace outrider::cli
