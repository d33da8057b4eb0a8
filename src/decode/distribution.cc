#include "decode/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/check.h"

namespace outrider::decode {
namespace {

using base::TokenId;

// visit(id, weight) in rising order of the ids until it returns false.
template <class Visit>
void for_each_token(const Distribution& distribution, Visit&& visit) {
  if (const OneHot* one = std::get_if<OneHot>(&distribution)) {
    visit(one->id, 1.0f);
  } else if (const Dense* dense = std::get_if<Dense>(&distribution)) {
    for (std::size_t i = 0; i < dense->weights.size(); ++i) {
      if (!visit(static_cast<TokenId>(i), dense->weights[i])) return;
    }
  } else if (const Sparse* sparse = std::get_if<Sparse>(&distribution)) {
    for (std::size_t i = 0; i < sparse->ids.size(); ++i) {
      if (!visit(sparse->ids[i], sparse->weights[i])) return;
    }
  }
}

double total_of(const Distribution& distribution) {
  if (const Dense* dense = std::get_if<Dense>(&distribution)) return dense->total;
  if (const Sparse* sparse = std::get_if<Sparse>(&distribution)) return sparse->total;
  return 1;
}

// Probabilities of tokens asked for in rising order.
class RisingLookup {
 public:
  explicit RisingLookup(const Distribution& distribution)
      : one_(std::get_if<OneHot>(&distribution)),
        dense_(std::get_if<Dense>(&distribution)),
        sparse_(std::get_if<Sparse>(&distribution)),
        scale_(1 / total_of(distribution)) {}

  double at(TokenId id) {
    const auto index = static_cast<std::size_t>(id);
    if (one_ != nullptr) return one_->id == id ? 1 : 0;
    if (dense_ != nullptr) return index < dense_->weights.size() ? dense_->weights[index] * scale_ : 0;
    while (next_ < sparse_->ids.size() && sparse_->ids[next_] < id) ++next_;
    return next_ < sparse_->ids.size() && sparse_->ids[next_] == id ? sparse_->weights[next_] * scale_ : 0;
  }

 private:
  const OneHot* one_;
  const Dense* dense_;
  const Sparse* sparse_;
  double scale_;
  std::size_t next_ = 0;
};

// visit(id, max(p - q, 0)) in rising order of the ids until it returns false.
template <class Visit>
void for_each_residual(const Distribution& p, const Distribution& q, Visit&& visit) {
  RisingLookup lookup(q);
  const double scale = 1 / total_of(p);
  for_each_token(p, [&](TokenId id, float weight) {
    return weight == 0 || visit(id, std::max(weight * scale - lookup.at(id), 0.0));
  });
}

// The race of waiting times over weights, block by block.
class Race {
 public:
  explicit Race(const SharedNoise& noise) : noise_(noise) {}

  // Tokens id_of(0), id_of(1), ... of one block of the noise, in rising order.
  template <class IdOf>
  void run_block(const IdOf& id_of, std::span<const float> weights) {
    float most = 0;
    for (const float weight : weights) most = std::max(most, weight);
    const double bound = noise_.block_bound(id_of(0) / SharedNoise::kBlockTokens);
    if (most == 0 || bound > best_ * static_cast<double>(most)) return;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double rate = static_cast<double>(weights[i]);
      if (rate == 0 || bound > best_ * rate) continue;
      const double time = noise_.time_of(id_of(i)) / rate;
      if (time >= best_) continue;
      best_ = time;
      winner_ = id_of(i);
    }
  }

  TokenId winner() const { return winner_; }

 private:
  const SharedNoise& noise_;
  double best_ = std::numeric_limits<double>::infinity();
  TokenId winner_ = -1;
};

}  // namespace

double probability_of(const Distribution& distribution, TokenId id) {
  if (const OneHot* one = std::get_if<OneHot>(&distribution)) return one->id == id ? 1 : 0;
  if (const Dense* dense = std::get_if<Dense>(&distribution)) {
    const auto index = static_cast<std::size_t>(id);
    return index < dense->weights.size() ? dense->weights[index] / dense->total : 0;
  }
  const Sparse& sparse = *std::get_if<Sparse>(&distribution);
  const auto place = std::lower_bound(sparse.ids.begin(), sparse.ids.end(), id);
  if (place == sparse.ids.end() || *place != id) return 0;
  return sparse.weights[static_cast<std::size_t>(place - sparse.ids.begin())] / sparse.total;
}

TokenId draw(const Distribution& distribution, double uniform) {
  const double goal = uniform * total_of(distribution);
  double sum = 0;
  TokenId chosen = -1;
  for_each_token(distribution, [&](TokenId id, float weight) {
    if (weight == 0) return true;
    chosen = id;  // also the answer where rounding lets the sum end short of the goal
    sum += static_cast<double>(weight);
    return sum <= goal;
  });
  OUTRIDER_CHECK_MSG(chosen >= 0, "a distribution without a token");
  return chosen;
}

TokenId draw_residual(const Distribution& p, const Distribution& q, double uniform) {
  double mass = 0;
  for_each_residual(p, q, [&](TokenId, double left) {
    mass += left;
    return true;
  });
  if (mass <= 0) return draw(p, uniform);
  const double goal = uniform * mass;
  double sum = 0;
  TokenId chosen = -1;
  for_each_residual(p, q, [&](TokenId id, double left) {
    if (left == 0) return true;
    chosen = id;
    sum += left;
    return sum <= goal;
  });
  return chosen;
}

TokenId draw_by_shared_noise(const Distribution& distribution, const SharedNoise& noise) {
  if (const OneHot* one = std::get_if<OneHot>(&distribution)) return one->id;
  Race race(noise);
  if (const Dense* dense = std::get_if<Dense>(&distribution)) {
    const std::span<const float> weights = dense->weights;
    for (std::size_t first = 0; first < weights.size(); first += SharedNoise::kBlockTokens) {
      const auto id_of = [first](std::size_t i) { return static_cast<TokenId>(first + i); };
      race.run_block(id_of, weights.subspan(first, std::min<std::size_t>(SharedNoise::kBlockTokens,
                                                                         weights.size() - first)));
    }
  } else if (const Sparse* sparse = std::get_if<Sparse>(&distribution)) {
    const std::span<const float> weights = sparse->weights;
    for (std::size_t first = 0, last = 0; first < weights.size(); first = last) {
      const TokenId block = sparse->ids[first] / SharedNoise::kBlockTokens;
      while (last < weights.size() && sparse->ids[last] / SharedNoise::kBlockTokens == block) ++last;
      const auto id_of = [&, first](std::size_t i) { return sparse->ids[first + i]; };
      race.run_block(id_of, weights.subspan(first, last - first));
    }
  }
  OUTRIDER_CHECK_MSG(race.winner() >= 0, "a distribution without a token");
  return race.winner();
}

}  // namespace outrider::decode
