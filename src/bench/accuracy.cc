#include "bench/accuracy.h"

#include <algorithm>
#include <cmath>

#include "bench/target.h"
#include "kernels/linear.h"
#include "model/families.h"

namespace outrider::bench {
namespace {

constexpr std::size_t kWindowTokens = 512;

struct Reading {
  double loss = 0;  // natural logarithm, summed
  std::vector<std::int32_t> likeliest;
  std::vector<std::vector<std::int32_t>> texts;  // greedy, one a prompt
};

std::int32_t argmax(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double loss_of(std::span<const float> logits, base::TokenId token) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return std::log(sum) + top - static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

void read_text(TargetRun& run, std::span<const base::TokenId> text, Reading& reading) {
  while (text.size() > 1) {
    const std::span<const base::TokenId> window = text.first(std::min(kWindowTokens, text.size()));
    const auto logits = run.logits(window, 0);
    for (std::size_t i = 0; i + 1 < window.size(); ++i) {
      const auto row = logits.row_span(static_cast<std::int64_t>(i));
      reading.loss += loss_of(row, window[i + 1]);
      reading.likeliest.push_back(argmax(row));
    }
    text = text.subspan(window.size());
  }
}

std::vector<std::int32_t> write_text(TargetRun& run, const std::vector<base::TokenId>& prompt,
                                     std::int64_t count) {
  std::vector<std::int32_t> text;
  auto logits = run.logits(prompt, 0);
  auto position = static_cast<std::int64_t>(prompt.size());
  for (std::int64_t i = 0; i < count; ++i) {
    text.push_back(argmax(logits.row_span(logits.rows - 1)));
    logits = run.logits(std::span(&text.back(), 1), position++);
  }
  return text;
}

base::Result<Reading> read_with(const Settings& settings, engine::EnginePlan plan,
                                const checkpoint::OpenedModel& target,
                                std::optional<kernels::WeightFormat> quantization) {
  plan.quantization = quantization;
  kernels::Executor executor(plan.target, plan.thread_count, plan.arithmetic);
  std::int64_t positions = static_cast<std::int64_t>(kWindowTokens);
  for (const Prompt& prompt : settings.prompts) {
    positions = std::max(positions, static_cast<std::int64_t>(prompt.tokens.size()) + settings.output_tokens);
  }
  OUTRIDER_TRY(const std::unique_ptr<model::Model> model,
               model::load_model(executor, plan.shape, *target.weights,
                                 {.position_count = positions + 1,
                                  .load = {.quantization = quantization, .on_progress = {}}}));
  TargetRun run(executor, *model, plan.cache, 1, positions);
  Reading reading;
  read_text(run, settings.held_text, reading);
  for (const Prompt& prompt : settings.prompts) {
    reading.texts.push_back(write_text(run, prompt.tokens, settings.output_tokens));
  }
  return reading;
}

double same_share(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(a.size());
}

// Tokens before the first that differs, over all.
double common_share(const Reading& a, const Reading& b) {
  std::size_t common = 0, all = 0;
  for (std::size_t i = 0; i < a.texts.size(); ++i) {
    const auto differs = std::mismatch(a.texts[i].begin(), a.texts[i].end(), b.texts[i].begin()).first;
    common += static_cast<std::size_t>(differs - a.texts[i].begin());
    all += a.texts[i].size();
  }
  return static_cast<double>(common) / static_cast<double>(all);
}

}  // namespace

base::Result<PartReport> measure_accuracy(const Settings& settings, const engine::EnginePlan& plan,
                                          const checkpoint::OpenedModel& target) {
  if (settings.held_text.size() < 2) {
    return base::refuse(
        {.field = "--text", .found = "", .rule = "must have two tokens at least", .remedy = ""});
  }
  PartReport part{.part = "accuracy"};
  std::vector<std::pair<const char*, std::optional<kernels::WeightFormat>>> formats = {
      {"as stored", std::nullopt}};
  if (!target.weights->packed_quantization()) {
    formats.push_back({"int8", kernels::WeightFormat::Int8});
    formats.push_back({"int4", kernels::WeightFormat::Int4});
  }
  std::optional<Reading> first;
  for (const auto& [name, quantization] : formats) {
    OUTRIDER_TRY(Reading reading, read_with(settings, plan, target, quantization));
    const std::string label = name;
    part.add(label + ": perplexity", "", Better::Less,
             {std::exp(reading.loss / static_cast<double>(reading.likeliest.size()))});
    if (!first) {
      first = std::move(reading);
      continue;
    }
    part.add(label + ": likeliest token is the same", "share", Better::More,
             {same_share(first->likeliest, reading.likeliest)});
    if (settings.prompts.empty()) continue;
    part.add(label + ": greedy text before it differs", "share", Better::More,
             {common_share(*first, reading)});
  }
  part.notes.push_back(std::to_string(first->likeliest.size()) + " tokens of text, " +
                       std::to_string(settings.prompts.size()) + " prompts");
  return part;
}

}  // namespace outrider::bench
