#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace outrider::tensor {
namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  int bits;
};

constexpr std::array kRows = {
    Row{Dtype::Bool, "BOOL", 8},      Row{Dtype::U8, "U8", 8},          Row{Dtype::I8, "I8", 8},
    Row{Dtype::U16, "U16", 16},       Row{Dtype::I16, "I16", 16},       Row{Dtype::U32, "U32", 32},
    Row{Dtype::I32, "I32", 32},       Row{Dtype::U64, "U64", 64},       Row{Dtype::I64, "I64", 64},
    Row{Dtype::F8E4M3, "F8_E4M3", 8}, Row{Dtype::F8E5M2, "F8_E5M2", 8}, Row{Dtype::F8E8M0, "F8_E8M0", 8},
    Row{Dtype::F4, "F4", 4},          Row{Dtype::F6E2M3, "F6_E2M3", 6}, Row{Dtype::F6E3M2, "F6_E3M2", 6},
    Row{Dtype::F16, "F16", 16},       Row{Dtype::BF16, "BF16", 16},     Row{Dtype::F32, "F32", 32},
    Row{Dtype::F64, "F64", 64},       Row{Dtype::C64, "C64", 64},
};

constexpr bool rows_follow_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_enum());

}  // namespace

std::string_view name_of(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)].name; }

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int bits_of(Dtype dtype) { return kRows[static_cast<std::size_t>(dtype)].bits; }

}  // namespace outrider::tensor
