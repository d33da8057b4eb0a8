// Random weights from a shape alone (--load-format dummy): for speed measurements without files. Each tensor
// is made when it is asked for, from (seed, name) and nothing else, at more than 200 million elements a
// second and thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/tensor_source.h"
#include "checkpoint/tensor_spec.h"

namespace outrider::checkpoint {

// Matrices are normal with deviation 0.02, cut at 3.7 deviations; norms' gains are 1, biases 0. BF16, unless
// the spec names another dtype. A draft vocabulary is the target's first rows: d2t is 0, t2d true for them.
// Optional tensors are left out.
//
// Where there are experts, what adds to the residual stream (o_proj, down_proj) has deviation 0.0002 instead:
// the stream stays close to the embedding of its own token, so that rows choose experts independently of each
// other. With 0.02 it soon is the average over the context, and neighbouring rows choose the same experts.
class DummyWeights final : public TensorSource {
 public:
  DummyWeights(const std::vector<TensorSpec>& specs, std::uint64_t seed);

  bool has(std::string_view name) const override { return specs_.find(name) != specs_.end(); }
  base::Result<HeldTensor> tensor(std::string_view name) const override;
  base::Result<base::Done> check_unchanged() const override { return base::Done{}; }

 private:
  std::map<std::string, TensorSpec, std::less<>> specs_;
  std::uint64_t seed_;
  std::int64_t draft_vocabulary_ = 0;  // rows of d2t, for t2d
  bool has_experts_ = false;
};

}  // namespace outrider::checkpoint
