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
  kernels::KvLayer layer = shape_of(i);
  layer.keys = keys_[i].data();
  layer.values = values_[i].data();
  return layer;
}

kernels::KvLayer KvStore::shape_of(std::size_t layer) const {
  return {.keys = nullptr,
          .values = nullptr,
          .dtype = plan_.dtype,
          .block_tokens = plan_.block_tokens,
          .kv_heads = plan_.layers[layer].kv_heads,
          .head_width = plan_.layers[layer].head_width};
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
  const std::int64_t block = base::index_of(blocks[position / plan_.block_tokens]);
  const std::int64_t slot = position % plan_.block_tokens;
  const auto size = static_cast<std::int64_t>(element_bytes(plan_.dtype));
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const kernels::KvLayer shape = shape_of(i);
    const auto take = [&](const tensor::Buffer& from, std::int64_t element) {
      const std::byte* first = from.data() + element * size;
      bytes.insert(bytes.end(), first, first + size);
    };
    const auto head_element = [&](std::int64_t head) {
      return (block * shape.kv_heads + head) * shape.block_tokens * shape.head_width;
    };
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      for (std::int64_t d = 0; d < shape.head_width; ++d) {
        take(keys_[i], head_element(head) + kernels::key_element(shape, slot, d));
      }
    }
    for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
      for (std::int64_t d = 0; d < shape.head_width; ++d) {
        take(values_[i], head_element(head) + slot * shape.head_width + d);
      }
    }
  }
  return bytes;
}

}  // namespace outrider::cache
