// Element types as they stand in safetensors files, with their sizes in bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace outrider::tensor {

enum class Dtype : std::uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  F8E4M3,
  F8E5M2,
  F8E8M0,
  F4,
  F6E2M3,
  F6E3M2,
  F16,
  BF16,
  F32,
  F64,
  C64
};

// safetensors' name: "BF16", "F8_E4M3".
std::string_view name_of(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);
int bits_of(Dtype dtype);

}  // namespace outrider::tensor
