// Packing: checkpoint rows into panels (layout.h), and back.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "kernels/layout.h"
#include "kernels/linear.h"
#include "tensor/float16.h"

namespace outrider::kernels {
namespace {

// Inputs handled at a time: what they fill of a panel stays in the first-level cache. A multiple of pairs and
// groups.
constexpr std::int64_t kChunkInputs = 128;

template <class Stored>
void widen(const std::byte* row, std::int64_t first, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, row + (first + i) * static_cast<std::int64_t>(sizeof value), sizeof value);
    if constexpr (std::is_same_v<Stored, float>) {
      out[i] = value;
    } else {
      out[i] = tensor::to_float(value);
    }
  }
}

using Widen = void (*)(const std::byte*, std::int64_t, std::int64_t, float*);

Widen widen_of(tensor::Dtype dtype) {
  if (dtype == tensor::Dtype::F16) return widen<tensor::F16>;
  if (dtype == tensor::Dtype::BF16) return widen<tensor::Bf16>;
  OUTRIDER_CHECK_MSG(dtype == tensor::Dtype::F32, "only F32, F16 and BF16 weights can be packed");
  return widen<float>;
}

std::uint16_t bf16_bits(float value) { return static_cast<std::uint16_t>(tensor::to_bf16(value)); }

void put_int8_group(const KernelTable& table, const float* values, std::int64_t output, std::byte* group) {
  std::int8_t codes[kGroupInputs];
  const tensor::Bf16 scale = table.quantise_int8(values, codes);
  std::memcpy(group + output * 2, &scale, 2);
  std::uint8_t biased[kGroupInputs];
  for (std::int64_t i = 0; i < kGroupInputs; ++i) biased[i] = static_cast<std::uint8_t>(codes[i] + kInt8Bias);
  for (std::int64_t i = 0; i < kGroupInputs; i += 4) {
    std::memcpy(group + kScaleBytes + int8_byte(output, i), biased + i, 4);
  }
}

void put_int4_group(const KernelTable& table, const float* values, std::int64_t output, std::byte* group) {
  std::int8_t codes[kGroupInputs];
  const tensor::Bf16 scale = table.quantise_int4(values, codes);
  std::memcpy(group + output * 2, &scale, 2);
  std::uint8_t nibbles[kGroupInputs / 2];
  for (std::int64_t i = 0; i < kGroupInputs / 2; ++i) {
    nibbles[i] =
        static_cast<std::uint8_t>((codes[i] + kInt4Bias) | (codes[i + kGroupInputs / 2] + kInt4Bias) << 4);
  }
  for (std::int64_t i = 0; i < kGroupInputs / 2; i += 4) {
    std::memcpy(group + kScaleBytes + int4_byte(output, i), nibbles + i, 4);
  }
}

// values: inputs [first, first + count) of one output, zero up to the next multiple of a group.
void put_chunk(const KernelTable& table, WeightFormat format, const float* values, std::int64_t first,
               std::int64_t count, std::int64_t output, std::byte* panel) {
  switch (format) {
    case WeightFormat::F32: {
      float* to = reinterpret_cast<float*>(panel) + first * kPanelOutputs + output;
      for (std::int64_t i = 0; i < count; ++i) to[i * kPanelOutputs] = values[i];
      return;
    }
    case WeightFormat::Bf16: {
      std::uint16_t* to = reinterpret_cast<std::uint16_t*>(panel) + first * kPanelOutputs + output * 2;
      for (std::int64_t i = 0; i < count; ++i) to[i / 2 * kPanelOutputs * 2 + i % 2] = bf16_bits(values[i]);
      return;
    }
    case WeightFormat::Int8:
      for (std::int64_t i = 0; i < count; i += kGroupInputs) {
        put_int8_group(table, values + i, output, panel + (first + i) / kGroupInputs * kInt8GroupBytes);
      }
      return;
    case WeightFormat::Int4:
      for (std::int64_t i = 0; i < count; i += kGroupInputs) {
        put_int4_group(table, values + i, output, panel + (first + i) / kGroupInputs * kInt4GroupBytes);
      }
      return;
  }
}

struct SourceRow {
  const std::byte* data;
  Widen widen;
};

void pack_panel(const KernelTable& table, WeightFormat format, std::span<const SourceRow> rows,
                std::int64_t inputs, std::byte* panel) {
  for (std::int64_t first = 0; first < inputs; first += kChunkInputs) {
    const std::int64_t count = std::min(kChunkInputs, inputs - first);
    for (std::size_t output = 0; output < rows.size(); ++output) {
      float values[kChunkInputs] = {};
      rows[output].widen(rows[output].data, first, count, values);
      put_chunk(table, format, values, first, count, static_cast<std::int64_t>(output), panel);
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(WeightFormat format, std::int64_t outputs, std::int64_t inputs)
    : format_(format),
      outputs_(outputs),
      inputs_(inputs),
      data_(make_piece(static_cast<std::size_t>(packed_bytes(format, outputs, inputs)))) {}

PackedMatrix PackedMatrix::view_of(WeightFormat format, std::int64_t outputs, std::int64_t inputs,
                                   const std::byte* bytes) {
  OUTRIDER_CHECK(reinterpret_cast<std::uintptr_t>(bytes) % 64 == 0);
  PackedMatrix matrix;
  matrix.format_ = format;
  matrix.outputs_ = outputs;
  matrix.inputs_ = inputs;
  matrix.data_ = std::shared_ptr<std::byte>(std::shared_ptr<void>(), const_cast<std::byte*>(bytes));
  matrix.writable_ = false;
  return matrix;
}

PackedMatrix PackedMatrix::in_slab(Slabs& slabs, WeightFormat format, std::int64_t outputs,
                                   std::int64_t inputs) {
  PackedMatrix matrix;
  matrix.format_ = format;
  matrix.outputs_ = outputs;
  matrix.inputs_ = inputs;
  matrix.data_ = slabs.take(static_cast<std::size_t>(packed_bytes(format, outputs, inputs)));
  return matrix;
}

std::int64_t PackedMatrix::packed_bytes(WeightFormat format, std::int64_t outputs, std::int64_t inputs) {
  return panel_count(outputs) * panel_bytes(format, inputs);
}

PackedMatrix pack_matrix(Executor& executor, std::span<const tensor::TensorView> sources,
                         WeightFormat format) {
  OUTRIDER_CHECK(!sources.empty());
  const std::int64_t inputs = sources[0].shape.at(1);
  std::vector<SourceRow> rows;
  for (const tensor::TensorView& source : sources) {
    OUTRIDER_CHECK(source.shape.size() == 2 && source.shape[1] == inputs);
    const std::int64_t row_bytes = inputs * tensor::bits_of(source.dtype) / 8;
    for (std::int64_t i = 0; i < source.shape[0]; ++i) {
      rows.push_back({source.data + i * row_bytes, widen_of(source.dtype)});
    }
  }
  const std::int64_t outputs = static_cast<std::int64_t>(rows.size());
  PackedMatrix matrix = PackedMatrix::in_slab(executor.slabs(), format, outputs, inputs);
  const std::int64_t bytes = panel_bytes(format, inputs);
  executor.pool().run([&](int thread) {
    const Share share = share_of(panel_count(outputs), thread, executor.pool().thread_count());
    for (std::int64_t panel = share.first; panel < share.last; ++panel) {
      const std::int64_t first = panel * kPanelOutputs;
      const std::span<const SourceRow> part(
          rows.data() + first, static_cast<std::size_t>(std::min(kPanelOutputs, outputs - first)));
      pack_panel(executor.table(), format, part, inputs, matrix.data() + panel * bytes);
    }
  });
  return matrix;
}

namespace {

float scale_of(const std::byte* group, std::int64_t output) {
  tensor::Bf16 scale;
  std::memcpy(&scale, group + output * 2, 2);
  return tensor::to_float(scale);
}

void unpack_int8(const std::byte* panel, std::int64_t output, std::span<float> out) {
  const std::int64_t inputs = static_cast<std::int64_t>(out.size());
  for (std::int64_t first = 0; first < inputs; first += kGroupInputs, panel += kInt8GroupBytes) {
    const float scale = scale_of(panel, output);
    for (std::int64_t i = 0; i < std::min(kGroupInputs, inputs - first); ++i) {
      const int code = static_cast<int>(panel[kScaleBytes + int8_byte(output, i)]) - kInt8Bias;
      out[static_cast<std::size_t>(first + i)] = static_cast<float>(code) * scale;
    }
  }
}

void unpack_int4(const std::byte* panel, std::int64_t output, std::span<float> out) {
  const std::int64_t inputs = static_cast<std::int64_t>(out.size());
  for (std::int64_t first = 0; first < inputs; first += kGroupInputs, panel += kInt4GroupBytes) {
    const float scale = scale_of(panel, output);
    for (std::int64_t i = 0; i < std::min(kGroupInputs, inputs - first); ++i) {
      const int byte = static_cast<int>(panel[kScaleBytes + int4_byte(output, i)]);
      out[static_cast<std::size_t>(first + i)] =
          static_cast<float>((byte >> int4_shift(i) & 15) - kInt4Bias) * scale;
    }
  }
}

}  // namespace

void unpack_row(const PackedMatrix& matrix, std::int64_t row, std::span<float> out) {
  OUTRIDER_CHECK(row >= 0 && row < matrix.outputs());
  OUTRIDER_CHECK(static_cast<std::int64_t>(out.size()) == matrix.inputs());
  const std::int64_t output = row % kPanelOutputs;
  const std::byte* panel =
      matrix.data() + row / kPanelOutputs * panel_bytes(matrix.format(), matrix.inputs());
  switch (matrix.format()) {
    case WeightFormat::F32: {
      const float* from = reinterpret_cast<const float*>(panel) + output;
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = from[k * kPanelOutputs];
      return;
    }
    case WeightFormat::Bf16: {
      const tensor::Bf16* from = reinterpret_cast<const tensor::Bf16*>(panel) + output * 2;
      for (std::size_t k = 0; k < out.size(); ++k)
        out[k] = tensor::to_float(from[k / 2 * kPanelOutputs * 2 + k % 2]);
      return;
    }
    case WeightFormat::Int8:
      return unpack_int8(panel, output, out);
    case WeightFormat::Int4:
      return unpack_int4(panel, output, out);
  }
}

}  // namespace outrider::kernels
