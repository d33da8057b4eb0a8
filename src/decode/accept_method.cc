#include "decode/accept_method.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/inspector.h"
#include "base/strings.h"

namespace outrider::decode {
namespace {

constexpr std::array kNames = {
    std::pair{AcceptMethod::Standard, std::string_view("standard")},
    std::pair{AcceptMethod::DrafterInvariant, std::string_view("drafter_invariant")},
    std::pair{AcceptMethod::Synthetic, std::string_view("synthetic")}};

void check_rates(const std::vector<double>& rates, int draft_count, base::Inspector& inspector) {
  const std::string field = "synthetic_acceptance_rates";
  inspector.require(rates.size() == static_cast<std::size_t>(draft_count),
                    {.field = field,
                     .found = std::to_string(rates.size()) + " rates",
                     .rule = "must hold one rate for each of the " + std::to_string(draft_count) + " drafts",
                     .remedy = {}});
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::string place = field + "[" + std::to_string(i) + "]";
    inspector.require(
        rates[i] >= 0 && rates[i] <= 1,
        {.field = place, .found = base::to_text(rates[i]), .rule = "must be from 0 to 1", .remedy = {}});
    inspector.require(i == 0 || !(rates[i] > rates[i - 1]),
                      {.field = place,
                       .found = base::to_text(rates[i]),
                       .rule = "must not exceed the rate before it, since it is the chance that all drafts "
                               "up to it are accepted",
                       .remedy = {}});
  }
}

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

base::Result<std::vector<double>> parse_synthetic_rates(const std::optional<std::vector<double>>& rates,
                                                        const std::optional<double>& length,
                                                        int draft_count) {
  base::Inspector inspector;
  inspector.require(
      rates.has_value() != length.has_value(),
      {.field = "rejection_sample_method",
       .found = "synthetic",
       .rule = "needs exactly one of synthetic_acceptance_rates and synthetic_acceptance_length",
       .remedy = rates ? "drop one of the two" : "give one of the two"});
  if (rates) check_rates(*rates, draft_count, inspector);
  if (length) {
    inspector.require(*length >= 1 && *length <= draft_count + 1,
                      {.field = "synthetic_acceptance_length",
                       .found = base::to_text(*length),
                       .rule = "must be from 1 to " + std::to_string(draft_count + 1) +
                               ", the number of drafts plus the target's own token",
                       .remedy = {}});
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  if (rates) return *rates;
  std::vector<double> derived;
  for (int i = 0; i < draft_count; ++i) derived.push_back(std::clamp(*length - 1 - i, 0.0, 1.0));
  return derived;
}

}  // namespace outrider::decode
