// model.safetensors.index.json -> which shard holds which tensor. Pure: whether shards exist and hold what
// the map says is for checkpoint.h to find out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::checkpoint {

struct ShardIndex {
  std::map<std::string, std::string, std::less<>>
      shard_of;                       // tensor -> shard, a plain name that ends in .safetensors
  std::vector<std::string> shards;    // distinct, sorted
  std::optional<double> total_bytes;  // as the file claims; published files get it wrong
};

base::Result<ShardIndex> parse_index(std::string_view text, const std::string& source);

}  // namespace outrider::checkpoint
