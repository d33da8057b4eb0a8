#include "model/weights.h"

#include <algorithm>
#include <cstring>

#include "tensor/float16.h"

namespace outrider::model {
namespace {

using kernels::WeightFormat;
using tensor::Dtype;

// Bf16 sources stay as they are; what is wider stays exact under strict fp32, and is rounded where the
// arithmetic rounds anyway.
WeightFormat plain_format(kernels::Arithmetic arithmetic, bool all_bf16) {
  return all_bf16 || arithmetic == kernels::Arithmetic::Bfloat16 ? WeightFormat::Bf16 : WeightFormat::F32;
}

template <class T>
T read_element(const std::byte* data, std::int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

float float_at(const tensor::TensorView& view, std::int64_t index) {
  switch (view.dtype) {
    case Dtype::F32:
      return read_element<float>(view.data, index);
    case Dtype::BF16:
      return tensor::to_float(read_element<tensor::Bf16>(view.data, index));
    case Dtype::F16:
      return tensor::to_float(read_element<tensor::F16>(view.data, index));
    default:
      OUTRIDER_CHECK_MSG(false, "a float tensor of another dtype passed the check of tensors");
  }
  return 0;
}

}  // namespace

std::optional<checkpoint::HeldTensor> WeightLoader::fetch(const std::string& name) {
  auto tensor = source_.tensor(name);
  if (!tensor.ok()) {
    inspector_.report_all(std::move(tensor).error());
    return std::nullopt;
  }
  bytes_done_ += tensor->view.byte_count();
  if (options_.on_progress) options_.on_progress(bytes_done_);
  return std::move(tensor).value();
}

kernels::PackedMatrix WeightLoader::matrix(const std::vector<std::string>& names, MatrixUse use) {
  std::vector<checkpoint::HeldTensor> held;
  for (const std::string& name : names) {
    if (auto tensor = fetch(name)) held.push_back(std::move(*tensor));
  }
  if (held.size() != names.size()) return {};
  std::vector<tensor::TensorView> views;
  for (const checkpoint::HeldTensor& tensor : held) views.push_back(tensor.view);
  const bool all_bf16 =
      std::all_of(views.begin(), views.end(), [](const auto& v) { return v.dtype == Dtype::BF16; });
  WeightFormat format = plain_format(executor_.arithmetic(), all_bf16);
  if (options_.quantization && use == MatrixUse::Layer) format = *options_.quantization;
  if (options_.quantization && use == MatrixUse::Vocabulary) format = WeightFormat::Int8;
  return kernels::pack_matrix(executor_, views, format);
}

std::vector<float> WeightLoader::vector(const std::vector<std::string>& names) {
  std::vector<float> values;
  for (const std::string& name : names) {
    const auto tensor = fetch(name);
    if (!tensor) continue;
    const std::int64_t count = tensor->view.element_count();
    for (std::int64_t i = 0; i < count; ++i) values.push_back(float_at(tensor->view, i));
  }
  return values;
}

std::vector<std::int64_t> WeightLoader::integers(const std::string& name) {
  std::vector<std::int64_t> values;
  const auto tensor = fetch(name);
  if (!tensor) return values;
  const std::int64_t count = tensor->view.element_count();
  for (std::int64_t i = 0; i < count; ++i) {
    if (tensor->view.dtype == Dtype::I64) values.push_back(read_element<std::int64_t>(tensor->view.data, i));
    if (tensor->view.dtype == Dtype::I32) values.push_back(read_element<std::int32_t>(tensor->view.data, i));
    if (tensor->view.dtype == Dtype::Bool) values.push_back(read_element<std::uint8_t>(tensor->view.data, i));
  }
  return values;
}

base::Result<base::Done> WeightLoader::finish() && {
  auto unchanged = source_.check_unchanged();
  if (!unchanged.ok()) inspector_.report_all(std::move(unchanged).error());
  if (!inspector_.clean()) return std::move(inspector_).refuse();
  return base::Done{};
}

}  // namespace outrider::model
