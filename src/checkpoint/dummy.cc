#include "checkpoint/dummy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "base/strings.h"
#include "tensor/float16.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kQuantiles = 4096;
using Quantiles = std::array<tensor::Bf16, kQuantiles>;

constexpr double kDeviation = 0.02, kQuietDeviation = 0.0002;

// The number below which a standard normal falls with probability p, by bisection: made once, exactness is
// cheap.
double normal_quantile(double p) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return low;
}

// Equally likely values: drawing one of them at random is a draw from the normal distribution, cut at its
// ends.
Quantiles make_quantiles(double deviation) {
  Quantiles values{};
  for (std::size_t i = 0; i < kQuantiles; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / kQuantiles;
    values[i] = tensor::to_bf16(static_cast<float>(deviation * normal_quantile(p)));
  }
  return values;
}

const Quantiles& quantiles(bool quiet) {
  static const Quantiles usual = make_quantiles(kDeviation), small = make_quantiles(kQuietDeviation);
  return quiet ? small : usual;
}

// What adds to the residual stream.
bool is_output_projection(std::string_view name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
}

// The output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): philox would take ten times as long,
// and weights need no more.
std::uint64_t mix(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

std::uint64_t key_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  const auto words =
      base::philox(seed, {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32),
                          static_cast<std::uint32_t>(base::Purpose::Weights), 0});
  return std::uint64_t{words[0]} << 32 | words[1];
}

void fill_normal(tensor::Bf16* out, std::size_t count, std::uint64_t key, const Quantiles& table) {
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  constexpr std::size_t kPerWord = 4;
  for (std::size_t i = 0; i < count; i += kPerWord) {
    const std::uint64_t word = mix(key + (i / kPerWord + 1) * kStep);
    tensor::Bf16 values[kPerWord];
    for (std::size_t j = 0; j < kPerWord; ++j) values[j] = table[(word >> (16 * j)) % kQuantiles];
    std::memcpy(out + i, values, std::min(kPerWord, count - i) * sizeof(tensor::Bf16));
  }
}

// A draft vocabulary that is the target's first rows: t2d is true for them, d2t adds nothing.
void fill_integers(const TensorSpec& spec, tensor::Dtype dtype, std::int64_t draft_vocabulary,
                   std::byte* out) {
  if (dtype != tensor::Dtype::Bool || !spec.name.ends_with("t2d") || spec.shape.empty()) return;
  const std::int64_t count = std::min(draft_vocabulary, spec.shape[0]);
  std::fill_n(out, static_cast<std::size_t>(count), std::byte{1});
}

}  // namespace

DummyWeights::DummyWeights(const std::vector<TensorSpec>& specs, std::uint64_t seed) : seed_(seed) {
  for (const TensorSpec& spec : specs) {
    if (spec.optional) continue;
    if (spec.name.find(".experts.") != std::string::npos) has_experts_ = true;
    if (spec.name.ends_with("d2t") && !spec.shape.empty()) draft_vocabulary_ = spec.shape[0];
    specs_.emplace(spec.name, spec);
  }
}

base::Result<HeldTensor> DummyWeights::tensor(std::string_view name) const {
  const auto found = specs_.find(name);
  if (found == specs_.end()) {
    return base::refuse({.field = "dummy weights",
                         .found = base::printable(name),
                         .rule = "there is no such tensor",
                         .remedy = ""});
  }
  const TensorSpec& spec = found->second;
  HeldTensor held{
      .view = {.data = nullptr, .dtype = spec.dtype.value_or(tensor::Dtype::BF16), .shape = spec.shape},
      .storage = {}};
  const auto count = static_cast<std::size_t>(held.view.element_count());
  const bool is_vector = spec.shape.size() == 1;
  const bool is_gain =
      is_vector && spec.name.find("norm") != std::string::npos && !spec.name.ends_with("bias");
  const tensor::Dtype dtype = held.view.dtype;
  if (dtype == tensor::Dtype::BF16 || dtype == tensor::Dtype::F32) {
    tensor::Buffer values(count * sizeof(tensor::Bf16));
    if (is_gain) {
      std::fill_n(values.as<tensor::Bf16>(), count, tensor::to_bf16(1.0f));
    } else if (!spec.name.ends_with("bias")) {
      fill_normal(values.as<tensor::Bf16>(), count, key_of(name, seed_),
                  quantiles(has_experts_ && is_output_projection(name)));
    }
    if (dtype == tensor::Dtype::F32) {
      held.storage = tensor::Buffer(count * sizeof(float));
      for (std::size_t i = 0; i < count; ++i)
        held.storage.as<float>()[i] = tensor::to_float(values.as<tensor::Bf16>()[i]);
    } else {
      held.storage = std::move(values);
    }
  } else {
    held.storage = tensor::Buffer(static_cast<std::size_t>(held.view.byte_count()));
    fill_integers(spec, dtype, draft_vocabulary_, held.storage.data());
  }
  held.view.data = held.storage.data();
  return held;
}

}  // namespace outrider::checkpoint
