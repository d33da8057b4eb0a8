#include "checkpoint/tensor_list.h"

#include <functional>
#include <numeric>

namespace outrider::checkpoint {
namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}
std::int64_t blocks_of(std::int64_t width, std::int64_t block) { return (width + block - 1) / block; }

}  // namespace

std::int64_t TensorGroup::bytes() const { return elements_of(shape) * tensor::bits_of(dtype) / 8; }

TensorGroup& TensorLister::add_table(const std::string& name, tensor::Dtype dtype,
                                     std::vector<std::int64_t> shape, Cut cut, int units) {
  groups_.push_back({.name = prefix_ + name,
                     .shape = std::move(shape),
                     .dtype = dtype,
                     .cut = cut,
                     .place = place_,
                     .layer = layer_,
                     .unit_count = units,
                     .drafter = drafter_});
  return groups_.back();
}

TensorGroup& TensorLister::add_typed(const std::string& name, tensor::Dtype dtype,
                                     std::vector<std::int64_t> shape, Cut cut, int units) {
  TensorGroup& group = add_table(name, dtype, std::move(shape), cut, units);
  group.parameters = elements_of(group.shape);
  return group;
}

TensorGroup& TensorLister::add(const std::string& name, std::vector<std::int64_t> shape, Cut cut, int units) {
  return add_typed(name, dtype_, std::move(shape), cut, units);
}

void TensorLister::linear(const std::string& name, std::int64_t out, std::int64_t in, Cut cut, int units,
                          const LinearFormat& format, const LinearNames& names, std::int64_t experts) {
  if (const auto* blocks = std::get_if<Fp8Blocks>(&format)) {
    const tensor::Dtype scales = blocks->power_of_two_scales ? tensor::Dtype::F8E8M0 : tensor::Dtype::F32;
    add_typed(name + names.weight, tensor::Dtype::F8E4M3, {out, in}, cut, units).count = experts;
    add_table(name + names.scale, scales, {blocks_of(out, blocks->rows), blocks_of(in, blocks->columns)}, cut,
              units)
        .count = experts;
  } else if (const auto* groups = std::get_if<Fp4Groups>(&format)) {
    TensorGroup& codes = add_typed(name + names.weight, tensor::Dtype::I8, {out, in / 2}, cut, units);
    codes.count = experts;
    codes.parameters *= 2;
    add_table(name + names.scale, tensor::Dtype::F8E8M0, {out, blocks_of(in, groups->group)}, cut, units)
        .count = experts;
  } else if (const auto* words = std::get_if<Int4Groups>(&format)) {
    TensorGroup& codes = add_typed(name + names.weight, tensor::Dtype::I32, {out, in / 8}, cut, units);
    codes.count = experts;
    codes.parameters *= 8;
    add_table(name + names.scale, dtype_, {out, blocks_of(in, words->group)}, cut, units).count = experts;
    add_table(name + ".weight_shape", tensor::Dtype::I32, {2}, cut == Cut::Expert ? cut : Cut::Replicated)
        .count = experts;
  } else {
    add(name + ".weight", {out, in}, cut, units).count = experts;
  }
}

}  // namespace outrider::checkpoint
