// J, K, and reading: what plain values cannot show, with where it is upheld.
#include "plan/rules.h"

namespace outrider::plan {
namespace {

// Values of drafting from text that contradict.
void check_text_drafts(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.method.without_model) return;
  const AskedDraft& asked = *q.intent.draft;
  const std::int64_t least = asked.prompt_lookup_min.value_or(asked.prompt_lookup_max.value_or(1)),
                     most = asked.prompt_lookup_max.value_or(least);
  if (q.method.name.starts_with("ngram") && least > most && least >= 1 && most >= 1) {
    out.refuse("draft.prompt_lookup_min", text(least),
               "draft: prompt_lookup_min=" + text(least) + " must be <= prompt_lookup_max=" + text(most),
               "lower the one or raise the other");
  }
  const auto in_share = [](double value) { return value >= 0 && value <= 1; };
  if (asked.suffix_decoding_min_token_prob && !in_share(*asked.suffix_decoding_min_token_prob)) {
    out.refuse("draft.suffix_decoding_min_token_prob", Json(*asked.suffix_decoding_min_token_prob).excerpt(),
               "draft: suffix_decoding_min_token_prob must be in [0, 1]", "give a share from 0 to 1");
  }
  if (asked.suffix_decoding_max_spec_factor && !(*asked.suffix_decoding_max_spec_factor >= 0)) {
    out.refuse("draft.suffix_decoding_max_spec_factor",
               Json(*asked.suffix_decoding_max_spec_factor).excerpt(),
               "draft: suffix_decoding_max_spec_factor must be >= 0", "give 0 or more");
  }
}

// A drafter that reads hidden states, or fills blocks, says nothing on its own.
void check_target_kind(const Question& q, Reporter& out) {
  const auto& drafter = q.facts.target.drafter;
  if (!drafter || drafter->inside_target || drafter->method == checkpoint::DraftMethod::Pard ||
      drafter->method == checkpoint::DraftMethod::DraftModel)
    return;
  const std::string kind(checkpoint::name_of(drafter->method));
  out.refuse("target.model", q.intent.model, "target: the model is a drafter of kind " + kind + ", no target",
             "give its target as the model, and it as \"model\" of --speculative-config");
}

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
     .reason = "While starting: there are none yet in a plan, and each has its phase's name when there are."},
    {.id = "CLI",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a flag or a value that is not known, or not in this engine",
     .reason = "Nothing is ignored: what has no effect would be taken for granted.",
     .check = check_text_drafts},
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
     .condition =
         "a config.json that cannot be read, has a faulty key, or is a drafter's where a target's is meant",
     .reason = "Every fault of the file is listed, with key, value and what is allowed; the rest is judged "
               "as far as it is known.",
     .check = check_target_kind},
};

}  // namespace

std::span<const Rule> later_rules() { return kRules; }

}  // namespace outrider::plan
