#include "decode/accept_method.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace outrider::decode {
namespace {

constexpr std::array kNames = {
    std::pair{AcceptMethod::Standard, std::string_view("standard")},
    std::pair{AcceptMethod::DrafterInvariant, std::string_view("drafter_invariant")},
    std::pair{AcceptMethod::Synthetic, std::string_view("synthetic")}};

}  // namespace

std::string_view name_of(AcceptMethod method) {
  for (const auto& [kind, name] : kNames) {
    if (kind == method) return name;
  }
  return {};
}

base::Result<AcceptMethod> parse_accept_method(std::string_view name, const std::string& field) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return base::refuse({.field = field,
                       .found = base::printable(name),
                       .rule = "must be standard, drafter_invariant or synthetic",
                       .remedy = {}});
}

}  // namespace outrider::decode
