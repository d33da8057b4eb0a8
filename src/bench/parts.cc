#include "bench/parts.h"

#include <cmath>

#include "bench/work.h"

namespace outrider::bench {
namespace {

enum class Format { Fp32, Bf16, Int8, Int4 };

// Of the layers' matrices: what decides which peak and which target count.
Format format_of(const Subject& subject) {
  const auto packed = subject.plan.quantization;
  if (packed == kernels::WeightFormat::Int8) return Format::Int8;
  if (packed == kernels::WeightFormat::Int4) return Format::Int4;
  return subject.plan.arithmetic == kernels::Arithmetic::Bfloat16 ? Format::Bf16 : Format::Fp32;
}

std::optional<double> verify_target(Format format, int rows) {
  if (rows != 8) return std::nullopt;
  if (format == Format::Int8) return 1.2;
  if (format == Format::Int4) return 1.5;
  return 1.05;
}

double mean(double a, double b) { return (a + b) / 2; }

// A step's seconds; steps of small models are repeated, so that the clock and a passing neighbour weigh
// little.
double steady_seconds(TargetRun& run, const TargetRun::Step& step) {
  constexpr double kEnough = 5e-3;
  double sum = 0;
  int count = 0;
  for (; sum < kEnough; ++count) sum += run.run(step);
  return sum / count;
}

}  // namespace

PartReport measure_decode(const Subject& subject) {
  PartReport part{.part = "decode"};
  const Settings& settings = subject.settings;
  const std::int64_t weights = subject.run.model().weight_bytes_per_row();
  const double cache =
      static_cast<double>(subject.run.cache_bytes_per_token()) *
      (static_cast<double>(settings.context) + static_cast<double>(settings.decode_tokens) / 2);
  std::vector<double> seconds, rates, weight_shares, shares;
  subject.run.run({.sequences = 1, .rows = 1, .context = settings.context});
  double before = subject.probe.bandwidth();
  repeat(settings, 1, [&](int i) {
    double sum = 0;
    for (std::int64_t t = 0; t < settings.decode_tokens; ++t) {
      sum += subject.run.run({.sequences = 1,
                              .rows = 1,
                              .context = settings.context + t,
                              .seed = static_cast<std::uint64_t>(i * settings.decode_tokens + t)});
    }
    const double after = subject.probe.bandwidth();
    const double token = sum / static_cast<double>(settings.decode_tokens);
    seconds.push_back(token);
    rates.push_back(1 / token);
    weight_shares.push_back(static_cast<double>(weights) / token / mean(before, after));
    shares.push_back((static_cast<double>(weights) + cache) / token / mean(before, after));
    before = after;
  });
  part.add("token", "s", Better::Less, seconds);
  part.add("tokens per second", "tok/s", Better::More, rates);
  part.add("weights read per token", "B", Better::Neither, {static_cast<double>(weights)});
  part.add("cache read per token", "B", Better::Neither, {cache});
  part.add("weights per second over probed bandwidth", "share", Better::More, weight_shares, 0.9);
  part.add("weights and cache per second over probed", "share", Better::More, shares);
  return part;
}

PartReport measure_verify(const Subject& subject) {
  PartReport part{.part = "verify"};
  const Settings& settings = subject.settings;
  const std::vector<int>& counts = settings.verify_rows;
  std::vector<std::vector<double>> one(counts.size()), many(counts.size()), one_ratio = one, many_ratio = one;
  const auto step = [&](int sequences, int rows, int seed) {
    return steady_seconds(subject.run, {.sequences = sequences,
                                        .rows = rows,
                                        .context = settings.context,
                                        .seed = static_cast<std::uint64_t>(seed)});
  };
  for (const int count : counts) step(1, count, 0);  // scratch grows once
  repeat(settings, 1, [&](int i) {
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const double single_before = step(1, 1, i);
      one[c].push_back(step(1, counts[c], i));
      const double single_after = step(1, 1, i);
      many[c].push_back(step(counts[c], 1, i));
      one_ratio[c].push_back(one[c].back() / mean(single_before, single_after));
      many_ratio[c].push_back(many[c].back() / mean(single_after, step(1, 1, i)));
    }
  });
  const bool dense = count_moe(subject.run.model().shape()).layers == 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::string rows = std::to_string(counts[c]) + (counts[c] == 1 ? " row" : " rows");
    const auto target = dense ? verify_target(format_of(subject), counts[c]) : std::nullopt;
    part.add(rows + " of one sequence", "s", Better::Less, one[c]);
    part.add(rows + " of one sequence over 1", "x", Better::Less, one_ratio[c], target);
    part.add(rows + " of as many sequences", "s", Better::Less, many[c]);
    part.add(rows + " of as many sequences over 1", "x", Better::Less, many_ratio[c]);
  }
  return part;
}

PartReport measure_prefill(const Subject& subject) {
  PartReport part{.part = "prefill"};
  const checkpoint::ModelShape& shape = subject.run.model().shape();
  const Format format = format_of(subject);
  const kernels::DotKind kind = format == Format::Fp32   ? kernels::DotKind::Fp32
                                : format == Format::Bf16 ? kernels::DotKind::Bf16
                                                         : kernels::DotKind::Int8;
  for (const std::int64_t tokens : subject.settings.prefill_tokens) {
    const double operations =
        layer_operations(shape) * static_cast<double>(tokens) + attention_operations(shape, tokens);
    std::vector<double> rates, shares;
    const auto step = [&] {
      return steady_seconds(subject.run,
                            {.sequences = 1, .rows = tokens, .context = 0, .last_row_only = true});
    };
    step();
    double before = kernels::probe_dot_peak(subject.run.executor(), kind, 0.05);
    repeat(subject.settings, 1.0 / static_cast<double>(subject.settings.prefill_tokens.size()), [&](int) {
      const double seconds = step();
      const double after = kernels::probe_dot_peak(subject.run.executor(), kind, 0.05);
      rates.push_back(static_cast<double>(tokens) / seconds);
      if (before > 0 && after > 0) shares.push_back(operations / seconds / mean(before, after));
      before = after;
    });
    const std::string name = std::to_string(tokens) + " tokens";
    std::optional<double> target;
    if (tokens == 512 && format == Format::Bf16) target = 0.8;
    if (tokens == 512 && format == Format::Int8) target = 0.6;
    part.add(name, "tok/s", Better::More, rates);
    if (!shares.empty()) part.add(name + ", share of the dot peak", "share", Better::More, shares, target);
  }
  return part;
}

namespace {

// Distinct experts of a pass, summed over its layers.
class ExpertCounter final : public model::RoutingObserver {
 public:
  explicit ExpertCounter(int experts) : seen_(static_cast<std::size_t>(experts)) {}
  void observe(int, tensor::MatrixView<const float>, tensor::MatrixView<const std::int32_t> ids,
               tensor::MatrixView<const float>) override {
    seen_.assign(seen_.size(), false);
    for (std::int64_t row = 0; row < ids.rows; ++row) {
      for (const std::int32_t id : ids.row_span(row)) seen_[static_cast<std::size_t>(id)] = true;
    }
    for (const bool seen : seen_) distinct += seen ? 1 : 0;
  }
  std::int64_t distinct = 0;

 private:
  std::vector<bool> seen_;
};

// Of one expert: what is held beyond what a row reads, but for an embedding table of its own, are the experts
// that a row does not choose.
double expert_bytes(const model::Model& model, const MoeCounts& moe) {
  const std::int64_t table = model.shape().tied_head ? 0 : model.embedding_weights().byte_count();
  return static_cast<double>(model.weight_bytes() - model.weight_bytes_per_row() - table) /
         static_cast<double>(moe.layers * (moe.experts - moe.experts_per_token));
}

}  // namespace

PartReport measure_moe(const Subject& subject) {
  PartReport part{.part = "moe"};
  const model::Model& model = subject.run.model();
  const MoeCounts moe = count_moe(model.shape());
  if (moe.layers == 0 || moe.experts == moe.experts_per_token) {
    part.notes.push_back("this model has no mixture of experts that chooses");
    return part;
  }
  const double expert = expert_bytes(model, moe);
  const double base_bytes =
      static_cast<double>(model.weight_bytes_per_row()) - expert * moe.layers * moe.experts_per_token;
  const std::vector<int>& counts = subject.settings.verify_rows;
  std::vector<std::vector<double>> bytes_growth(counts.size()), time_growth = bytes_growth,
                                                                ratio = bytes_growth, experts = bytes_growth;
  repeat(subject.settings, 1, [&](int i) {
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const TargetRun::Step one{.sequences = 1,
                                .rows = 1,
                                .context = subject.settings.context,
                                .seed = static_cast<std::uint64_t>(i)};
      TargetRun::Step step = one;
      step.rows = counts[c];
      ExpertCounter counter(moe.experts);
      subject.run.run(step, &counter);
      const double before = steady_seconds(subject.run, one);
      const double seconds = steady_seconds(subject.run, step);
      const double growth = seconds / mean(before, steady_seconds(subject.run, one));
      const double bytes = (base_bytes + expert * static_cast<double>(counter.distinct)) /
                           static_cast<double>(model.weight_bytes_per_row());
      experts[c].push_back(static_cast<double>(counter.distinct) / moe.layers);
      bytes_growth[c].push_back(bytes);
      time_growth[c].push_back(growth);
      ratio[c].push_back(growth / bytes);
    }
  });
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 1) continue;
    const std::string rows = std::to_string(counts[c]) + " rows";
    part.add(rows + ": experts of a layer", "", Better::Neither, experts[c]);
    part.add(rows + ": growth in bytes read", "x", Better::Neither, bytes_growth[c]);
    part.add(rows + ": growth in time", "x", Better::Less, time_growth[c]);
    part.add(rows + ": growth in time over growth in bytes", "x", Better::Less, ratio[c],
             counts[c] == 8 ? std::optional(1.03) : std::nullopt);
  }
  return part;
}

}  // namespace outrider::bench
