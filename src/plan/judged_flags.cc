#include "plan/judged_flags.h"

#include <algorithm>

#include "plan/intent_flags.h"
#include "plan/known_flags.h"

namespace outrider::plan {
namespace {

using base::Flag;
using base::FlagKind;

FlagKind kind_of_known(KnownKind kind) {
  if (kind == KnownKind::Switch || kind == KnownKind::OnlyOn) return FlagKind::Switch;
  return kind == KnownKind::Json ? FlagKind::Json : FlagKind::Text;
}

void add_known_flags(std::vector<Flag>& flags, std::span<const KnownFlag> known_flags) {
  for (const KnownFlag& known : known_flags) {
    flags.push_back({.name = std::string(known.name),
                     .kind = kind_of_known(known.kind),
                     .value_name = "",
                     .help = "",
                     .short_names = split_blanks(known.shorts),
                     .many = known.kind == KnownKind::Many || known.kind == KnownKind::Integers,
                     .negatable = known.kind != KnownKind::OnlyOn,
                     .bare_too = known.kind == KnownKind::BareOrText});
  }
}

}  // namespace

std::string setting_of_flag(std::string_view flag) {
  std::string name(flag.substr(2));
  std::replace(name.begin(), name.end(), '-', '_');
  return "target." + name;
}

std::vector<Flag> judged_flags() {
  std::vector<Flag> flags;
  add_common_flags(flags);
  add_asked_flags(flags, std::nullopt);
  for (const auto& [name, key] : kSpecFlags)
    flags.push_back({.name = std::string(name), .kind = FlagKind::Text, .value_name = "", .help = ""});
  add_known_flags(flags, vllm_flags());
  add_known_flags(flags, gone_flags());
  return flags;
}

}  // namespace outrider::plan
