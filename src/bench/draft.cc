#include <cmath>

#include "base/random.h"
#include "bench/drafting.h"
#include "bench/work.h"
#include "draft/block_drafter.h"

namespace outrider::bench {
namespace {

constexpr std::int64_t kCommitted = 4;  // rows that a round commits, for the context writer

// What one round reads.
struct BlockBytes {
  double context, layers, head, markov;
  double all() const { return context + layers + head + markov; }
};

BlockBytes derive_bytes(const DraftSubject& subject, const draft::BlockPlan& plan) {
  using kernels::WeightFormat;
  const checkpoint::ModelShape& shape = plan.shape.backbone;
  auto quantization = subject.plan.draft->quantization;
  if (!quantization) quantization = subject.draft_source->packed_quantization();
  const WeightFormat plain =
      subject.plan.arithmetic == kernels::Arithmetic::Bfloat16 ? WeightFormat::Bf16 : WeightFormat::F32;
  const WeightFormat layer = quantization.value_or(plain);
  const WeightFormat vocabulary = quantization ? WeightFormat::Int8 : plain;
  const auto bytes = [](WeightFormat format, std::int64_t outputs, std::int64_t inputs) {
    return static_cast<double>(kernels::PackedMatrix::packed_bytes(format, outputs, inputs));
  };
  const std::int64_t hidden = shape.hidden_width;
  BlockBytes read{};
  read.context = bytes(layer, hidden, hidden * static_cast<std::int64_t>(plan.shape.taps.size()));
  for (const checkpoint::LayerShape& held : shape.layers) {
    const auto& attention = std::get<checkpoint::GroupedAttention>(held.attention);
    const std::int64_t heads = std::int64_t{attention.heads} * attention.head_width;
    const double key_value =
        bytes(layer, std::int64_t{2} * attention.kv_heads * attention.head_width, hidden);
    const std::int64_t width = std::get<checkpoint::DenseMlp>(held.mlp).width;
    read.context += key_value;
    read.layers += bytes(layer, heads, hidden) + key_value + bytes(layer, hidden, heads) +
                   bytes(layer, 2 * width, hidden) + bytes(layer, hidden, width);
  }
  const std::int64_t outputs = plan.shape.draft_vocabulary.value_or(shape.vocabulary);
  read.head = plan.shape.own_head ? bytes(vocabulary, outputs, hidden)
                                  : static_cast<double>(subject.target->head_weights().byte_count());
  if (plan.shape.markov)
    read.markov = plan.draft_tokens * bytes(vocabulary, outputs, plan.shape.markov->rank);
  return read;
}

// Features as a target might serve them: of size one.
tensor::Matrix random_features(std::int64_t rows, std::int64_t columns) {
  tensor::Matrix features(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto words = base::philox(7, {static_cast<std::uint32_t>(row), 0, 0, 0});
    std::uint32_t state = words[0];
    for (float& value : features.view().row_span(row)) {
      state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator: any noise will do
      value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0F;
    }
  }
  return features;
}

struct Times {
  std::vector<double> all, context, layers, head, markov, rest, over_bytes;
};

void measure_rounds(const DraftSubject& subject, draft::Drafter& drafter, double bytes, Times& times) {
  const Settings& settings = subject.settings;
  const base::SequenceId sequence{1};
  const auto columns = static_cast<std::int64_t>(drafter.taps().size()) * subject.plan.shape.hidden_width;
  const tensor::Matrix features = random_features(settings.context + kCommitted, columns);
  const std::vector<base::TokenId> tokens =
      random_tokens(settings.context + kCommitted + 1, subject.plan.shape.vocabulary, 3);
  const decode::SamplingParams greedy{};
  const draft::DraftRequest request{
      .sequence = sequence, .tokens = tokens, .sampling = &greedy, .draft_count_max = drafter.drafts_max()};
  drafter.begin(sequence);
  draft::Observation context{
      .sequence = sequence, .first_position = 0, .features = features.view().row_range(0, settings.context)};
  drafter.observe(std::span(&context, 1));
  const draft::Observation committed{.sequence = sequence,
                                     .first_position = settings.context,
                                     .features = features.view().row_range(settings.context, kCommitted)};
  decode::Proposal proposal;
  const auto round = [&] {
    drafter.settle(sequence, settings.context);
    proposal = {};
    const double start = base::seconds_now();
    drafter.observe(std::span(&committed, 1));
    drafter.propose(std::span(&request, 1), std::span(&proposal, 1));
    return base::seconds_now() - start;
  };
  round();  // scratch grows once
  double before = subject.probe.bandwidth();
  repeat(settings, 1, [&](int) {
    const draft::DraftTimes start = drafter.times();
    double seconds = 0;
    int rounds = 0;
    for (; seconds < 5e-3; ++rounds) seconds += round();
    const draft::DraftTimes end = drafter.times();
    const double after = subject.probe.bandwidth();
    const auto keep = [rounds](std::vector<double>& into, double sum) { into.push_back(sum / rounds); };
    keep(times.all, seconds);
    keep(times.context, end.context - start.context);
    keep(times.layers, end.layers - start.layers);
    keep(times.head, end.head - start.head);
    keep(times.markov, end.markov - start.markov);
    times.rest.push_back(times.all.back() - times.context.back() - times.layers.back() - times.head.back() -
                         times.markov.back());
    times.over_bytes.push_back(times.all.back() / (bytes / ((before + after) / 2)));
    before = after;
  });
  drafter.end(sequence);
}

}  // namespace

base::Result<PartReport> measure_draft(const DraftSubject& subject) {
  const auto* plan = std::get_if<draft::BlockPlan>(&subject.plan.draft->drafter);
  OUTRIDER_CHECK_MSG(plan != nullptr && subject.draft_source != nullptr,
                     "the part draft is for block drafters");
  OUTRIDER_TRY(
      const std::unique_ptr<draft::Drafter> drafter,
      draft::load_block_drafter(subject.executor, *plan, *subject.draft_source, *subject.target,
                                {.quantization = subject.plan.draft->quantization, .on_progress = {}}));
  PartReport part{.part = "draft"};
  const BlockBytes bytes = derive_bytes(subject, *plan);
  Times times;
  measure_rounds(subject, *drafter, bytes.all(), times);
  const std::string block = "block of " + std::to_string(plan->draft_tokens);
  part.add(block, "s", Better::Less, times.all);
  part.add(block + " over its bytes at probed bandwidth", "x", Better::Less, times.over_bytes, 1.3);
  part.add("context writer, " + std::to_string(kCommitted) + " rows", "s", Better::Less, times.context);
  part.add("layers", "s", Better::Less, times.layers);
  part.add("head", "s", Better::Less, times.head);
  part.add("Markov head", "s", Better::Less, times.markov);
  part.add("sampling and the rest", "s", Better::Less, times.rest);
  part.add("bytes of the context writer", "B", Better::Neither, {bytes.context});
  part.add("bytes of the layers", "B", Better::Neither, {bytes.layers});
  part.add("bytes of the head", "B", Better::Neither, {bytes.head});
  part.add("bytes of the Markov head, read only where they can matter", "B", Better::Neither, {bytes.markov});
  return part;
}

}  // namespace outrider::bench
