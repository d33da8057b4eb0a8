#include "checkpoint/index.h"

#include <algorithm>

#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/folder.h"
#include "checkpoint/problem_list.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kIndexBytesMax = std::size_t{64} << 20;
constexpr std::size_t kShardsMax = 1024;

void read_total(const base::Json& tree, ShardIndex& index, ProblemList& problems) {
  const base::Json* metadata = tree.find("metadata");
  if (metadata == nullptr) return;
  if (metadata->object() == nullptr) {
    problems.add("metadata", metadata->excerpt(), "must be an object");
    return;
  }
  const base::Json* total = metadata->find("total_size");
  if (total == nullptr) return;
  index.total_bytes = total->number();
  if (!index.total_bytes || *index.total_bytes < 0) {
    problems.add("metadata: total_size", total->excerpt(), "must be a number of bytes");
  }
}

void read_map(const base::Json::Object& map, ShardIndex& index, ProblemList& problems) {
  for (const auto& [tensor, value] : map) {
    const std::string* shard = value.string();
    const std::string field = "weight_map: " + base::printable(tensor);
    if (shard == nullptr) {
      problems.add(field, value.excerpt(), "must be the name of a file");
    } else if (!is_plain_name(*shard) || !shard->ends_with(".safetensors")) {
      problems.add(field, "\"" + base::printable(*shard) + "\"",
                   "must be the plain name of a .safetensors file in the same folder; it is not opened");
    } else {
      index.shard_of.emplace(tensor, *shard);
      index.shards.push_back(*shard);
    }
  }
  std::sort(index.shards.begin(), index.shards.end());
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  if (index.shards.size() > kShardsMax) {
    problems.add("weight_map", std::to_string(index.shards.size()) + " files",
                 "at most " + std::to_string(kShardsMax) + " are opened");
  }
}

}  // namespace

base::Result<ShardIndex> parse_index(std::string_view text, const std::string& source) {
  OUTRIDER_TRY(const base::Json tree,
               base::parse_json(text, source, {.depth_max = 8, .bytes_max = kIndexBytesMax}));
  ProblemList problems(source);
  ShardIndex index;
  const base::Json* map = tree.find("weight_map");
  if (tree.object() == nullptr) {
    problems.add("the file", std::string(tree.kind_name()), "must be an object with weight_map");
  } else if (map == nullptr) {
    problems.add("weight_map", "", "is missing: it says which file holds which tensor");
  } else if (map->object() == nullptr || map->object()->empty()) {
    problems.add("weight_map", map->excerpt(), "must be an object of tensor names and file names");
  } else {
    read_map(*map->object(), index, problems);
  }
  read_total(tree, index, problems);
  if (!problems.clean()) return std::move(problems).refuse();
  return index;
}

}  // namespace outrider::checkpoint
