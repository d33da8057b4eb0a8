// What a checkpoint holds against what its shape asks for. Nothing is filled, dropped or cast in silence.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_spec.h"

namespace outrider::checkpoint {

// Refused, all of it at once: missing tensors, tensors that nobody reads, wrong shapes and dtypes; of each
// the first 20 and a count. `unread_suffixes`: endings of names that published files of the family carry
// though nobody reads them (".rotary_emb.inv_freq").
base::Result<base::Done> check_tensors(const Checkpoint& checkpoint, const std::vector<TensorSpec>& expected,
                                       const std::vector<std::string>& unread_suffixes);

}  // namespace outrider::checkpoint
