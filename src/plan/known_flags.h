// The flags of `vllm serve` that have no part in a plan: known, so that a pasted command line is not refused
// for them, and so that a misspelt one is told from them.
#pragma once

#include <span>
#include <string_view>

namespace outrider::plan {

enum class KnownKind { Switch, Text, Many, Json };

struct KnownFlag {
  std::string_view name;
  KnownKind kind;
  bool ours = false;  // a command of ours has it too
  std::string_view shorts = "";
};

std::span<const KnownFlag> vllm_flags();

}  // namespace outrider::plan
