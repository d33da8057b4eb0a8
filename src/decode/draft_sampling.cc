#include "decode/draft_sampling.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/strings.h"

namespace outrider::decode {
namespace {

using base::Error;
using base::Purpose;
using base::RandomStream;
using base::Result;
using base::TokenId;

// Published maps rise; one that does not is sorted, and ids named twice become one token.
void sort_by_id(Sparse& sparse) {
  if (std::is_sorted(sparse.ids.begin(), sparse.ids.end(), std::less_equal<>())) return;
  std::vector<std::pair<TokenId, float>> pairs;
  for (std::size_t i = 0; i < sparse.ids.size(); ++i) pairs.emplace_back(sparse.ids[i], sparse.weights[i]);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  sparse.ids.clear();
  sparse.weights.clear();
  for (const auto& [id, weight] : pairs) {
    if (!sparse.ids.empty() && sparse.ids.back() == id) {
      sparse.weights.back() += weight;
    } else {
      sparse.ids.push_back(id);
      sparse.weights.push_back(weight);
    }
  }
  sparse.total = 0;
  for (const float weight : sparse.weights) sparse.total += static_cast<double>(weight);
}

Result<base::Done, Error> fill_q(std::span<const float> logits, std::span<const TokenId> target_ids,
                                 double temperature, Distribution& q) {
  if (target_ids.empty()) return soften_logits(logits, temperature, reuse_as<Dense>(q));
  Sparse& sparse = reuse_as<Sparse>(q);
  Dense dense{.weights = std::move(sparse.weights), .total = 0};  // the same memory
  OUTRIDER_TRY_DONE(soften_logits(logits, temperature, dense));
  sparse.weights = std::move(dense.weights);
  sparse.total = dense.total;
  sparse.ids.assign(target_ids.begin(), target_ids.end());
  sort_by_id(sparse);
  return base::Done{};
}

}  // namespace

Result<DraftSampleMethod> parse_draft_sample_method(std::string_view name, const std::string& field) {
  if (name == "greedy") return DraftSampleMethod::Greedy;
  if (name == "probabilistic") return DraftSampleMethod::Probabilistic;
  return base::refuse({.field = field,
                       .found = base::printable(name),
                       .rule = "must be greedy or probabilistic",
                       .remedy = {}});
}

Result<TokenId, Error> sample_draft(std::span<const float> logits, std::span<const TokenId> target_ids,
                                    const DraftRules& rules, const DraftPlace& place, Distribution& q) {
  OUTRIDER_CHECK(target_ids.empty() || target_ids.size() == logits.size());
  OUTRIDER_CHECK(place.position >= 0 && place.slot >= 0);
  const auto position = static_cast<std::uint64_t>(place.position);
  if (is_greedy_draft(rules.method, rules.temperature)) {
    OUTRIDER_TRY(const TokenId best, find_argmax(logits));
    const TokenId token = target_ids.empty() ? best : target_ids[static_cast<std::size_t>(best)];
    q = OneHot{.id = token};
    return token;
  }
  OUTRIDER_TRY_DONE(fill_q(logits, target_ids, rules.temperature, q));
  if (rules.accept == AcceptMethod::DrafterInvariant) {
    return draw_by_shared_noise(q, SharedNoise(rules.seed, position));
  }
  return draw(
      q, RandomStream(rules.seed, position, Purpose::Draft).uniform(static_cast<std::uint32_t>(place.slot)));
}

}  // namespace outrider::decode
