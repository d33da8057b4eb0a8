#include "model/weights.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/packed.h"
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
  count_progress(tensor->view.byte_count());
  return std::move(tensor).value();
}

void WeightLoader::count_progress(std::int64_t bytes) {
  bytes_done_ += bytes;
  if (options_.on_progress) options_.on_progress(bytes_done_);
}

// Weights that were packed cannot be quantised again; asking for what they are already is no fault.
void WeightLoader::check_quantization() {
  const std::optional<WeightFormat> packed = source_.packed_quantization();
  if (!packed) return;
  const auto found = checkpoint::packed_name(*packed);
  inspector_.require(!options_.quantization || *options_.quantization == *packed,
                     {.field = "quantization",
                      .found = checkpoint::packed_name(options_.quantization.value_or(*packed)),
                      .rule = "the weights are packed as " + found,
                      .remedy = "ask for " + found + " or for nothing, or name the original files"});
  inspector_.require(options_.sink == nullptr, {.field = "quantization",
                                                .found = found,
                                                .rule = "the weights are packed already",
                                                .remedy = "name the original files"});
}

WeightFormat WeightLoader::format_of(std::span<const tensor::TensorView> views, MatrixUse use) const {
  const bool all_bf16 =
      std::all_of(views.begin(), views.end(), [](const auto& v) { return v.dtype == Dtype::BF16; });
  if (options_.quantization && use == MatrixUse::Layer) return *options_.quantization;
  if (options_.quantization && use == MatrixUse::Vocabulary) return WeightFormat::Int8;
  return plain_format(executor_.arithmetic(), all_bf16);
}

kernels::PackedMatrix WeightLoader::view_packed(const std::vector<std::string>& names,
                                                const checkpoint::PackedTensor& packed, MatrixUse use) {
  const WeightFormat layers = source_.packed_quantization().value_or(WeightFormat::Int8);
  const bool right = use == MatrixUse::Layer
                         ? packed.format == layers
                         : use == MatrixUse::Vocabulary && packed.format == WeightFormat::Int8;
  if (!right) {
    inspector_.report(
        {.field = names.front(),
         .found = checkpoint::packed_name(packed.format),
         .rule = use == MatrixUse::Exact ? "must not be packed" : "must be packed in another format",
         .remedy = "pack the original files again with outrider quantize"});
    return {};
  }
  count_progress(kernels::PackedMatrix::packed_bytes(packed.format, packed.outputs, packed.inputs));
  return kernels::PackedMatrix::view_of(packed.format, packed.outputs, packed.inputs, packed.bytes);
}

kernels::PackedMatrix WeightLoader::matrix(const std::vector<std::string>& names, MatrixUse use) {
  if (const auto packed = source_.packed(names)) return view_packed(names, *packed, use);
  std::vector<checkpoint::HeldTensor> held;
  for (const std::string& name : names) {
    if (auto tensor = fetch(name)) held.push_back(std::move(*tensor));
  }
  if (held.size() != names.size()) return {};
  std::vector<tensor::TensorView> views;
  for (const checkpoint::HeldTensor& tensor : held) views.push_back(tensor.view);
  if (options_.sink != nullptr && use == MatrixUse::Exact) {
    for (std::size_t i = 0; i < names.size(); ++i) options_.sink->take_plain(names[i], views[i]);
    return {};
  }
  kernels::PackedMatrix matrix = kernels::pack_matrix(executor_, views, format_of(views, use));
  if (options_.sink == nullptr) return matrix;
  std::vector<std::int64_t> rows;
  for (const tensor::TensorView& view : views) rows.push_back(view.shape.at(0));
  options_.sink->take_matrix(names, rows, std::move(matrix));
  return {};
}

std::vector<float> WeightLoader::vector(const std::vector<std::string>& names) {
  std::vector<float> values;
  for (const std::string& name : names) {
    const auto tensor = fetch(name);
    if (!tensor) continue;
    if (options_.sink != nullptr) options_.sink->take_plain(name, tensor->view);
    const std::int64_t count = tensor->view.element_count();
    for (std::int64_t i = 0; i < count; ++i) values.push_back(float_at(tensor->view, i));
  }
  return values;
}

std::vector<std::int64_t> WeightLoader::integers(const std::string& name) {
  std::vector<std::int64_t> values;
  const auto tensor = fetch(name);
  if (!tensor) return values;
  if (options_.sink != nullptr) options_.sink->take_plain(name, tensor->view);
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
