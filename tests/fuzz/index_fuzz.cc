// Fuzzes the reader of shard maps. An input is a model.safetensors.index.json: refused, or a map whose shards
// are plain names.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "checkpoint/folder.h"
#include "checkpoint/index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outrider;
  const auto index = checkpoint::parse_index({reinterpret_cast<const char*>(data), size}, "index.json");
  if (!index.ok()) {
    OUTRIDER_CHECK(!index.error().problems.empty());
    return 0;
  }
  OUTRIDER_CHECK(!index->shards.empty() && !index->shard_of.empty());
  OUTRIDER_CHECK(!index->total_bytes || *index->total_bytes >= 0);
  for (const std::string& shard : index->shards) {
    OUTRIDER_CHECK(checkpoint::is_plain_name(shard) && shard.find('/') == std::string::npos);
  }
  return 0;
}
