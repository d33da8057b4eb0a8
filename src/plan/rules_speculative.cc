// S: speculative settings.
#include <algorithm>
#include <array>
#include <limits>

#include "plan/ask_values.h"
#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

bool is_method(const Question& q, DraftMethod kind) { return q.method.kind == kind; }

void check_s3(const Question& q, Reporter& out) {
  if (!q.intent.draft || q.method.without_model || !q.method.known) return;
  const AskedDraft& asked = *q.intent.draft;
  if (asked.model) return;
  const auto words = words_of("run_method", q.engine, q.intent.use);  // what does not run is told by R1
  if (!words.empty() && !q.method.name.empty() &&
      std::find(words.begin(), words.end(), q.method.name) == words.end())
    return;
  if (q.method.name.empty()) {
    out.refuse("draft.model", "", "draft: neither method nor model is given",
               "add \"method\", and \"model\" where the drafter has a file of its own");
    return;
  }
  const auto& inside = q.facts.target.drafter;
  const bool has = inside && q.method.kind && inside->method == *q.method.kind;
  const bool dsp_v41 = q.model().model_type.starts_with("deepseek_v41") && is_method(q, DraftMethod::Mtp);
  if (has || dsp_v41) return;
  if (inside) {  // a DSpark checkpoint never falls back to serial MTP, nor the other way
    const std::string held(checkpoint::name_of(inside->method));
    out.refuse("draft.method", q.method.name,
               "draft: method " + q.method.name +
                   " has no drafter here: the target's checkpoint holds one of kind " + held,
               "use method " + held + ", or give \"model\"");
    return;
  }
  out.refuse("draft.model", "",
             "draft: method " + q.method.name + " needs a model: the target's checkpoint holds no drafter",
             "add \"model\"");
}

void check_s5(const Question& q, Reporter& out) {
  if (!q.intent.draft) return;
  constexpr std::array<std::string_view, 4> kTheirs = {"medusa", "mlp_speculator", "extract_hidden_states",
                                                       "custom_class"};
  const bool theirs = std::find(kTheirs.begin(), kTheirs.end(), q.method.name) != kTheirs.end();
  if (q.is(Engine::Vllm) && (theirs || q.method.name == "pard")) {
    out.refuse("draft.method", q.method.name,
               theirs ? "draft: drafters of method " + q.method.name + " are not read by this planner"
                      : "draft: vLLM has no method pard",
               theirs ? "one of dspark, dflash, eagle3, mtp, draft_model, ngram, suffix"
                      : "use method draft_model with \"parallel_drafting\":true");
  } else if (!q.method.known) {
    out.refuse("draft.method", q.method.name.substr(0, 120),
               "draft: method " + q.method.name.substr(0, 120) + " is not one that is drafted with",
               q.intent.use != Use::Plan
                   ? "one of dspark, dflash, ngram"
                   : std::string("one of dspark, dflash, eagle3, mtp, ") +
                         (q.is(Engine::Vllm) ? "" : "pard, ") + "draft_model, ngram, suffix");
  } else if (q.method.name.empty() && q.intent.draft->model && q.facts.draft) {
    out.refuse("draft.method", "", "draft: no method is given, and the drafter's config does not tell one",
               "add \"method\"");
  }
}

void check_s6(const Question& q, Reporter& out) {
  if (!is_method(q, DraftMethod::Mtp) || !q.model().model_type.starts_with("deepseek_v41")) return;
  out.refuse("draft.method", "mtp", "draft: DeepSeek V4.1 has no serial MTP; use method dspark",
             "\"method\":\"dspark\"");
}

void check_s12(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->use_heterogeneous_vocab.value_or(false)) return;
  const AskedDraft& asked = *q.intent.draft;
  const auto refuse = [&](const std::string& why) {
    out.refuse("draft.use_heterogeneous_vocab", "true", "draft: use_heterogeneous_vocab " + why,
               "leave it out");
  };
  if (!is_method(q, DraftMethod::DraftModel)) refuse("is for method draft_model only, not " + q.method.name);
  if (asked.draft_sample_method == "probabilistic") refuse("needs draft_sample_method=greedy");
  if (asked.use_local_argmax_reduction.value_or(false)) refuse("does not go with use_local_argmax_reduction");
}

void check_s13(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->dspark_draft_topk) return;
  const std::int64_t topk = *q.intent.draft->dspark_draft_topk;
  const auto refuse = [&](const std::string& why) {
    out.refuse("draft.dspark_draft_topk", text(topk), "draft: dspark_draft_topk=" + text(topk) + " " + why,
               "leave it out");
  };
  if (!is_method(q, DraftMethod::DSpark)) refuse("is for method dspark only, not " + q.method.name);
  if (topk > q.model().vocabulary) refuse("exceeds the vocabulary of " + text(q.model().vocabulary));
  if (q.draft && q.draft->tensor_parallel_size > 1)
    refuse("needs draft tp=1, got " + text(q.draft->tensor_parallel_size));
}

void check_s14(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->enable_adaptive_verification.value_or(false) ||
      is_method(q, DraftMethod::DSpark))
    return;
  out.refuse("draft.enable_adaptive_verification", "true",
             "draft: adaptive verification needs the confidences of method dspark, not " + q.method.name,
             "leave it out");
}

void check_s15(const Question& q, Reporter& out) {
  if (!q.intent.draft) return;
  const AskedDraft& asked = *q.intent.draft;
  const bool synthetic = asked.rejection_sample_method == "synthetic";
  const int given = (asked.synthetic_acceptance_rates ? 1 : 0) + (asked.synthetic_acceptance_length ? 1 : 0);
  const auto refuse = [&](const char* field, std::string value, const std::string& why) {
    out.refuse(std::string("draft.") + field, std::move(value), "draft: " + why,
               "give synthetic_acceptance_length, a mean from 1 to drafts + 1, or one falling rate a draft");
  };
  if (synthetic && given != 1) {
    refuse("rejection_sample_method", "synthetic",
           "synthetic acceptance needs exactly one of synthetic_acceptance_rates and _length");
  }
  if (!synthetic && given > 0) {
    refuse(asked.synthetic_acceptance_rates ? "synthetic_acceptance_rates" : "synthetic_acceptance_length",
           "", "synthetic acceptance is for rejection_sample_method=synthetic only");
  }
  const std::int64_t k = q.drafting ? q.drafting->num_speculative_tokens : 0;
  if (asked.synthetic_acceptance_length && sane(k)) {
    const double length = *asked.synthetic_acceptance_length;
    if (length < 1 || length > static_cast<double>(k + 1)) {
      refuse("synthetic_acceptance_length", Json(length).excerpt(),
             "synthetic_acceptance_length=" + Json(length).excerpt() + " is not in [1, " + text(k + 1) + "]");
    }
  }
  const Json::Array* rates =
      asked.synthetic_acceptance_rates ? asked.synthetic_acceptance_rates->array() : nullptr;
  if (!asked.synthetic_acceptance_rates) return;
  const std::string shown = asked.synthetic_acceptance_rates->excerpt();
  if (rates == nullptr || (k > 0 && static_cast<std::int64_t>(rates->size()) != k)) {
    refuse("synthetic_acceptance_rates", shown,
           "synthetic_acceptance_rates must list one rate for each of " + text(k) + " drafts");
  }
  double before = 1;
  for (const Json& rate : rates == nullptr ? Json::Array{} : *rates) {
    const double value = rate.number().value_or(-1);
    if (value < 0 || value > before) {
      refuse("synthetic_acceptance_rates", shown,
             "synthetic_acceptance_rates must be in [0, 1] and never rise");
      return;
    }
    before = value;
  }
}

constexpr Rule kRules[] = {
    {.id = "S3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "no drafter: neither a path nor one inside the target's checkpoint",
     .reason = "A DSpark checkpoint never falls back to serial MTP in silence.",
     .vllm = "num_speculative_tokens was provided but without speculative model (vllm#46965)",
     .check = check_s3},
    {.id = "S5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "the method is not known, or cannot be found",
     .reason = "Nothing to draft with.",
     .vllm = "Unsupported speculative method",
     .check = check_s5},
    {.id = "S6",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "method mtp on DeepSeek V4.1",
     .reason = "Its mtp.* tensors are DSpark stages.",
     .vllm = "DeepSeek V4.1 has no classic-MTP draft",
     .check = check_s6},
    {.id = "S12",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "use_heterogeneous_vocab where it has no meaning",
     .reason = "Only draft models with greedy drafts map tokens by text.",
     .vllm = "vllm#51561",
     .check = check_s12},
    {.id = "S13",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "dspark_draft_topk with another method, beyond the vocabulary, or with a split drafter",
     .reason = "The candidates are taken from one rank's logits.",
     .vllm = "dspark_draft_topk",
     .check = check_s13},
    {.id = "S14",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "adaptive verification without confidences",
     .reason = "Only DSpark drafters have them.",
     .vllm = "Adaptive verification only supported with DSpark",
     .check = check_s14},
    {.id = "S15",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "synthetic acceptance that does not fit",
     .reason = "Exactly one of length and rates, one rate a draft, in [0, 1], never rising.",
     .vllm = "synthetic_acceptance_rates",
     .check = check_s15},
};

}  // namespace

std::span<const Rule> speculative_rules() { return kRules; }

}  // namespace outrider::plan
