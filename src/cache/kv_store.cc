#include "cache/kv_store.h"

#include <cstring>

namespace outrider::cache {
namespace {
std::size_t element_bytes(kernels::KvDtype dtype) { return dtype == kernels::KvDtype::F32 ? 4 : 2; }
}  // namespace

KvStore::KvStore(CachePlan plan) : plan_(std::move(plan)) {
  for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
    keys_.emplace_back(block_bytes(i) * static_cast<std::size_t>(plan_.block_count));
    values_.emplace_back(block_bytes(i) * static_cast<std::size_t>(plan_.block_count));
  }
}

std::size_t KvStore::block_bytes(std::size_t layer) const {
  const LayerCache& shape = plan_.layers[layer];
  return static_cast<std::size_t>(plan_.block_tokens) * static_cast<std::size_t>(shape.kv_heads) *
         static_cast<std::size_t>(shape.head_width) * element_bytes(plan_.dtype);
}

kernels::KvLayer KvStore::layer(int index) {
  const auto i = static_cast<std::size_t>(index);
  OUTRIDER_CHECK(i < keys_.size());
  return {.keys = keys_[i].data(),
          .values = values_[i].data(),
          .dtype = plan_.dtype,
          .block_tokens = plan_.block_tokens,
          .kv_heads = plan_.layers[i].kv_heads,
          .head_width = plan_.layers[i].head_width};
}

void KvStore::duplicate_block(base::BlockId source, base::BlockId target) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const std::size_t bytes = block_bytes(i);
    for (tensor::Buffer* buffer : {&keys_[i], &values_[i]}) {
      std::memcpy(buffer->data() + bytes * static_cast<std::size_t>(target),
                  buffer->data() + bytes * static_cast<std::size_t>(source), bytes);
    }
  }
}

std::vector<std::byte> KvStore::position_bytes(const base::BlockId* blocks, std::int64_t position) const {
  std::vector<std::byte> bytes;
  const auto block_tokens = static_cast<std::size_t>(plan_.block_tokens);
  const auto block = static_cast<std::size_t>(blocks[position / plan_.block_tokens]);
  const auto slot = static_cast<std::size_t>(position % plan_.block_tokens);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto heads = static_cast<std::size_t>(plan_.layers[i].kv_heads);
    const std::size_t row = static_cast<std::size_t>(plan_.layers[i].head_width) * element_bytes(plan_.dtype);
    for (const tensor::Buffer* buffer : {&keys_[i], &values_[i]}) {
      for (std::size_t head = 0; head < heads; ++head) {
        const std::byte* first = buffer->data() + ((block * heads + head) * block_tokens + slot) * row;
        bytes.insert(bytes.end(), first, first + row);
      }
    }
  }
  return bytes;
}

}  // namespace outrider::cache
