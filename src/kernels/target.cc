#include "kernels/target.h"

#include <array>

namespace outrider::kernels {
namespace {

struct Row {
  Target target;
  std::string_view name;
};
constexpr std::array kRows = {Row{Target::Reference, "reference"}, Row{Target::Avx2, "avx2"},
                              Row{Target::Avx512, "avx512"}};

// The builtin also asks whether the system saves the wide registers.
bool runs_here(Target target) {
  switch (target) {
    case Target::Reference:
      return true;
#if defined(__x86_64__)
    case Target::Avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Target::Avx512:
      return runs_here(Target::Avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16") &&
             __builtin_cpu_supports("avx512vnni");
#else
    case Target::Avx2:
    case Target::Avx512:
      return false;
#endif
  }
  return false;
}

}  // namespace

std::string_view name_of(Target target) { return kRows[static_cast<std::size_t>(target)].name; }

base::Result<Target> parse_target(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    if (runs_here(row.target)) return row.target;
    return base::refuse({.field = "kernel target",
                         .found = std::string(name),
                         .rule = "this machine lacks the instructions",
                         .remedy = "use " + std::string(name_of(best_target()))});
  }
  return base::refuse({.field = "kernel target",
                       .found = std::string(name),
                       .rule = "must be reference, avx2 or avx512",
                       .remedy = "leave it out to take the fastest"});
}

std::vector<Target> available_targets() {
  std::vector<Target> targets;
  for (const Row& row : kRows) {
    if (runs_here(row.target)) targets.push_back(row.target);
  }
  return targets;
}

Target best_target() { return available_targets().back(); }

}  // namespace outrider::kernels
