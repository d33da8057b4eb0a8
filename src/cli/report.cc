#include "cli/report.h"

#include <cstdio>

namespace outrider::cli {
namespace {

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// The first output token of each sequence comes out of its prompt's last step; all others take decode steps.
double generation_rate(const engine::Figures& figures) {
  return ratio(static_cast<double>(figures.decoded_tokens), figures.decode_seconds);
}

void write_logprobs(base::JsonWriter& json, const engine::Output& output) {
  json.key("logprobs").begin_array();
  for (std::size_t i = 0; i < output.logprobs.size(); ++i) {
    json.begin_object()
        .key("token_id")
        .value(output.tokens[i])
        .key("logprob")
        .value(output.logprobs[i].chosen);
    json.key("top").begin_array();
    for (const decode::TokenLogprob& top : output.logprobs[i].top)
      json.begin_array().value(top.id).value(top.logprob).end_array();
    json.end_array().end_object();
  }
  json.end_array();
}

void write_rounds(base::JsonWriter& json, const engine::Output& output) {
  json.key("rounds").begin_array();
  for (const engine::Round& round : output.rounds) {
    json.begin_object().key("position").value(round.position).key("anchor").value(round.anchor);
    json.key("drafted").values(round.drafted).key("confidence").values(round.confidence);
    json.key("accepted").value(round.accepted).key("next").value(round.next).end_object();
  }
  json.end_array();
}

}  // namespace

void write_figures(base::JsonWriter& json, const engine::Figures& figures) {
  json.begin_object();
  json.key("prompt_tokens").value(figures.prompt_tokens).key("output_tokens").value(figures.output_tokens);
  json.key("steps").value(figures.steps).key("rounds").value(figures.rounds);
  json.key("drafted_tokens")
      .value(figures.drafted_tokens)
      .key("verified_tokens")
      .value(figures.verified_tokens);
  json.key("accepted_tokens")
      .value(figures.accepted_tokens)
      .key("mean_acceptance_length")
      .value(figures.mean_acceptance_length());
  json.key("acceptance_per_position").begin_array();
  for (std::size_t i = 0; i < figures.verified_by_position.size(); ++i) {
    json.value(ratio(static_cast<double>(figures.accepted_by_position[i]),
                     static_cast<double>(figures.verified_by_position[i])));
  }
  json.end_array();
  json.key("prefill_seconds")
      .value(figures.prefill_seconds)
      .key("decode_seconds")
      .value(figures.decode_seconds);
  json.key("draft_seconds")
      .value(figures.draft_seconds)
      .key("decode_draft_seconds")
      .value(figures.decode_draft_seconds)
      .key("verify_seconds")
      .value(figures.verify_seconds);
  json.key("prompt_tokens_per_second")
      .value(ratio(static_cast<double>(figures.prompt_tokens), figures.prefill_seconds));
  json.key("output_tokens_per_second").value(generation_rate(figures));
  json.end_object();
}

std::string json_report(std::span<const SequenceReport> sequences, const engine::Figures& figures,
                        const ReportParts& parts) {
  base::JsonWriter json;
  json.begin_object().key("sequences").begin_array();
  for (const SequenceReport& sequence : sequences) {
    json.begin_object()
        .key("prompt_token_ids")
        .values(sequence.prompt)
        .key("token_ids")
        .values(sequence.output.tokens);
    json.key("text").value(std::string_view(sequence.text));
    json.key("finish_reason");
    if (!sequence.output.finish) {
      json.null().key("error").value(std::string_view(sequence.output.error));
    } else {
      json.value(*sequence.output.finish == engine::FinishReason::Stop ? "stop" : "length");
    }
    if (parts.logprobs) write_logprobs(json, sequence.output);
    if (parts.rounds) write_rounds(json, sequence.output);
    json.end_object();
  }
  json.end_array().key("figures");
  write_figures(json, figures);
  json.end_object();
  return json.text();
}

std::string figures_line(const engine::Figures& figures) {
  std::string line =
      "prompt " + std::to_string(figures.prompt_tokens) + " tokens, " +
      format("%.0f tokens/s", ratio(static_cast<double>(figures.prompt_tokens), figures.prefill_seconds)) +
      " | output " + std::to_string(figures.output_tokens) + " tokens, " +
      format("%.1f tokens/s", generation_rate(figures));
  if (figures.drafted_tokens > 0) {
    line += " | " + std::to_string(figures.rounds) + " drafts of " +
            format("%.1f",
                   ratio(static_cast<double>(figures.verified_tokens), static_cast<double>(figures.rounds))) +
            " tokens, accepted per position";
    for (std::size_t i = 0; i < figures.verified_by_position.size(); ++i) {
      line += format(" %.2f", ratio(static_cast<double>(figures.accepted_by_position[i]),
                                    static_cast<double>(figures.verified_by_position[i])));
    }
    line += format(", mean acceptance length %.2f", figures.mean_acceptance_length());
  }
  const double decode = figures.decode_seconds;
  line += " | draft " + format("%.0f %%", 100 * ratio(figures.decode_draft_seconds, decode)) + ", verify " +
          format("%.0f %%", 100 * ratio(figures.verify_seconds, decode)) + ", other " +
          format("%.0f %%",
                 decode > 0 ? 100 * (1 - ratio(figures.decode_draft_seconds + figures.verify_seconds, decode))
                            : 0);
  return line;
}

}  // namespace outrider::cli
