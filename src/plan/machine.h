// What the machine offers, as far as it is known. Absent = not known: no rule is applied to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"

namespace outrider::plan {

struct Machine {
  std::optional<std::int64_t> nodes = {}, devices_per_node = {}, device_memory_bytes = {}, cores = {};
  std::optional<std::vector<std::string>> kernel_targets = {};  // slowest first, as names
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace outrider::plan

template <>
struct outrider::base::Fields<outrider::plan::Machine> {
  using M = plan::Machine;
  static constexpr std::tuple list = {
      field("nodes", &M::nodes, ""),
      field("devices_per_node", &M::devices_per_node, ""),
      field("device_memory_bytes", &M::device_memory_bytes, ""),
      field("cores", &M::cores, ""),
      field("kernel_targets", &M::kernel_targets, ""),
  };
};
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::Machine);
