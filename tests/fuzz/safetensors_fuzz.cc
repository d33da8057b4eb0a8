// Fuzzes the reader of safetensors headers. An input is a file. Whatever it says, the answer is a refusal fit
// to be printed, or entries that cover the file exactly.
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/check.h"
#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "tensor/view.h"

namespace outrider {
namespace {

void check_refusal(const base::Refusal& refusal) {
  OUTRIDER_CHECK(!refusal.problems.empty() && refusal.problems.size() <= 21);
  const std::string text = base::to_string(refusal);
  OUTRIDER_CHECK(base::is_utf8(text) && text.size() < 64 << 10);
  for (const base::Problem& problem : refusal.problems) {
    for (const char c : base::to_string(problem))
      OUTRIDER_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  }
}

void check_header(const checkpoint::SafetensorsHeader& header, std::size_t file_bytes) {
  std::int64_t at = 0;
  std::set<std::string> names;
  for (const checkpoint::SafetensorsEntry& entry : header.entries) {
    OUTRIDER_CHECK(entry.begin == at && entry.end >= entry.begin && entry.shape.size() <= 8);
    OUTRIDER_CHECK(base::is_utf8(entry.name) && names.insert(entry.name).second);
    const tensor::TensorView view{.data = nullptr, .dtype = entry.dtype, .shape = entry.shape};
    OUTRIDER_CHECK(view.byte_count() == entry.end - entry.begin);
    at = entry.end;
  }
  OUTRIDER_CHECK(header.data_start + at == static_cast<std::int64_t>(file_bytes));
}

}  // namespace
}  // namespace outrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outrider;
  const auto header = checkpoint::parse_safetensors(std::as_bytes(std::span(data, size)), "x.safetensors");
  if (header.ok()) {
    check_header(*header, size);
  } else {
    check_refusal(header.error());
  }
  return 0;
}
