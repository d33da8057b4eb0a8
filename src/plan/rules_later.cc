// J, K, and reading: what plain values cannot show, with where it is upheld.
#include "plan/rules.h"

namespace outrider::plan {
namespace {

constexpr Rule kRules[] = {
    {.id = "J1",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "ranks with different plans",
     .reason = "At start: fingerprints are compared before the first payload, and a difference is told field "
               "by field (vllm#44718)."},
    {.id = "J2",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "fields without effect in that comparison",
     .reason = "By construction: only what is in the plan counts (vllm#41098)."},
    {.id = "J3",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a check that one rank makes alone",
     .reason = "While running: verdicts are shared before a collective."},
    {.id = "J4",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "collectives that do not match",
     .reason = "While running: each is described before it is entered."},
    {.id = "K1",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a check after threads, ports or devices exist",
     .reason = "By construction: the plan is made first."},
    {.id = "K2",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a rank that fails at start",
     .reason = "While starting: all learn phase, rank and message in bounded time."},
    {.id = "K3",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "derivations that allocate",
     .reason = "By construction: plan() is pure."},
    {.id = "K4",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "unnamed barriers",
     .reason = "While starting."},
    {.id = "CLI",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a flag or a value that is not known, or not in this engine",
     .reason = "Nothing is ignored: what has no effect would be taken for granted."},
    {.id = "JSON",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "JSON that cannot be read; a duplicate or unknown key; a value of another kind",
     .reason = "A misspelt key would be a default in silence. The rest of the command line is judged all the "
               "same."},
    {.id = "YAML",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a balancing file that cannot be read; a duplicate or unknown key; a value of another kind",
     .reason = "As for JSON.",
     .trtllm = "StrictBaseModel"},
    {.id = "CONFIG",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a config.json that cannot be read or has a faulty key",
     .reason = "Every fault of the file is listed, with key, value and what is allowed; the rest is judged "
               "as far as it is known."},
};

}  // namespace

std::span<const Rule> later_rules() { return kRules; }

}  // namespace outrider::plan
