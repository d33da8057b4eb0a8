// The flags of `vllm serve` that have no part in a plan: known, so that a pasted command line is not refused
// for them, so that a misspelt one is told from them, and so that a value that vLLM would not take is told.
#pragma once

#include <span>
#include <string_view>

namespace outrider::plan {

enum class KnownKind {
  Switch,  // with a "--no-" form
  OnlyOn,  // without one
  Text,
  BareOrText,  // a value or none
  Integer,
  Count,  // an integer, "8k" and "8K" included
  Number,
  Many,      // all words up to the next flag
  Integers,  // the same, integers
  Json,      // an object, dotted keys too
  AnyJson,
};

struct KnownFlag {
  std::string_view name;
  KnownKind kind;
  std::string_view shorts = "";
  bool ours = false;            // a command of ours has it too
  std::string_view range = "";  // "[1,65535]", "(0,1]", "[0,)"
  std::string_view words = "";  // what it takes, separated by blanks; empty: any text
  std::string_view gone = "";   // an older version's: what stands for it now
};

std::span<const KnownFlag> vllm_flags();
std::span<const KnownFlag> gone_flags();

}  // namespace outrider::plan
