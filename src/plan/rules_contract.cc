// G: kernels, formats and cache types per role; H: what a drafter says of its target; X8.
#include <algorithm>

#include "plan/derive.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

bool ordinary_model(const Question& q) {
  return q.view &&
         (q.view->drafter->method == DraftMethod::DraftModel || q.view->drafter->method == DraftMethod::Pard);
}

void check_g2(const Question& q, Reporter& out) {
  const auto differs = [](const std::string& asked, const std::string& found) {
    return asked != found && !asked.starts_with(found) && !found.starts_with(asked);
  };
  const auto& model = q.model().quantisation;
  if (q.intent.target.quantization && model && differs(*q.intent.target.quantization, model->method)) {
    out.refuse(
        "target.quantization", *q.intent.target.quantization,
        "target: quantization=" + *q.intent.target.quantization + " but the checkpoint is " + model->method,
        "leave it out");
  }
  if (!q.view || !q.intent.draft->quantization || !q.view->model->quantisation) return;
  if (!differs(*q.intent.draft->quantization, q.view->model->quantisation->method)) return;
  out.refuse("draft.quantization", *q.intent.draft->quantization,
             "draft: quantization=" + *q.intent.draft->quantization + " but the checkpoint is " +
                 q.view->model->quantisation->method,
             "leave it out");
}

void check_g3(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || role.settings.quantization ||
        !needs_quantised_experts(role.settings.moe_backend))
      return;
    out.refuse(role.field("moe_backend"), role.settings.moe_backend,
               role.says("moe_backend=" + role.settings.moe_backend +
                         " is not supported for unquantised (unquantized) MoE"),
               "use triton, or leave it out");
  });
}

void check_g5(const Question& q, Reporter& out) {
  if (!q.draft || !q.intent.draft->kv_cache_dtype) return;
  const std::string& type = *q.intent.draft->kv_cache_dtype;
  if (!is_packed_latent(type) || keeps_latent_rows(*q.view->kv)) return;
  out.refuse(
      "draft.kv_cache_dtype", type,
      "draft: kv_cache_dtype=" + type + " packs latent rows, and the draft keeps keys and values per head",
      "leave it out");
}

void check_g5_target(const Question& q, Reporter& out) {
  const std::string& type = q.target.kv_cache_dtype;
  if (is_packed_latent(type) && !q.model().kv.empty() && !keeps_latent_rows(q.model().kv)) {
    out.refuse(
        "target.kv_cache_dtype", type,
        "target: kv_cache_dtype=" + type + " packs latent rows, and the model keeps keys and values per head",
        "use auto");
  }
  check_g5(q, out);
}

void check_x8(const Question& q, Reporter& out) {
  if (q.target.kv_cache_dtype != "nvfp4" || q.model().attention.find("mla") == std::string::npos) return;
  out.refuse("target.kv_cache_dtype", "nvfp4", "target: nvfp4 KV cache is not supported with MLA",
             "use fp8 or auto");
}

void check_h1(const Question& q, Reporter& out) {
  if (!ordinary_model(q) || q.intent.draft->use_heterogeneous_vocab.value_or(false)) return;
  const std::int64_t target = q.model().vocabulary, draft = q.view->model->vocabulary;
  if (target == draft) return;
  out.refuse("draft.config.vocab_size", text(draft),
             "draft: vocabulary of " + text(draft) + " tokens differs from the target's " + text(target) +
                 ": tokens mean different texts",
             "use a draft model of the same tokenizer");
}

void check_h2(const Question& q, Reporter& out) {
  if (!q.view || ordinary_model(q)) return;
  const std::int64_t target = q.model().vocabulary, rows = q.view->drafter->draft_vocabulary;
  if (rows <= target) return;
  out.refuse("draft.config.draft_vocab_size", text(rows),
             "draft: head of " + text(rows) + " tokens, the target's vocabulary has " + text(target),
             "use the drafter of this target");
}

void check_h4(const Question& q, Reporter& out) {
  if (!q.view || ordinary_model(q) || q.view->inside_target) return;
  const std::int64_t target = q.model().vocabulary, draft = q.view->model->vocabulary;
  if (draft == target || q.view->drafter->draft_vocabulary > target) return;
  out.refuse("draft.config.vocab_size", text(draft),
             "draft: made for a vocabulary of " + text(draft) + " tokens, the target has " + text(target),
             "use the drafter of this target");
}

void check_h5(const Question& q, Reporter& out) {
  if (!q.view || ordinary_model(q) || q.view->inside_target) return;
  const checkpoint::DrafterFacts& drafter = *q.view->drafter;
  const std::int64_t target = q.model().hidden_width;
  if (drafter.target_hidden_width && *drafter.target_hidden_width != target) {
    out.refuse("draft.config.target_hidden_size", text(*drafter.target_hidden_width),
               "draft: made for a target of hidden size " + text(*drafter.target_hidden_width) +
                   ", this one has " + text(target),
               "use the drafter of this target");
  } else if (!drafter.target_hidden_width && q.view->model->hidden_width != target) {
    out.refuse("draft.config.hidden_size", text(q.view->model->hidden_width),
               "draft: hidden size " + text(q.view->model->hidden_width) + " differs from the target's " +
                   text(target),
               "use the drafter of this target");
  }
  if (drafter.target_layers && *drafter.target_layers != q.model().layer_count) {
    out.refuse("draft.config.num_target_layers", text(*drafter.target_layers),
               "draft: made for a target of " + text(*drafter.target_layers) + " layers, this one has " +
                   text(q.model().layer_count),
               "use the drafter of this target");
  }
}

// An engine's own rule: ours plans any count, below or above the trained block.
void check_h6(const Question& q, Reporter& out) {
  if (!q.view || q.view->drafter->method != DraftMethod::DSpark || !q.view->drafter->drafts_per_block) return;
  const std::int64_t block = *q.view->drafter->drafts_per_block,
                     k = q.drafting ? q.drafting->num_speculative_tokens : 0;
  if (k < 1 || k == block) return;
  out.refuse("draft.num_speculative_tokens", text(k),
             "draft: TensorRT-LLM: block_size=" + text(block) + " but num_speculative_tokens=" + text(k),
             "set it to " + text(block));
}

void check_h7(const Question& q, Reporter& out) {
  if (!q.view) return;
  const checkpoint::DrafterFacts& drafter = *q.view->drafter;
  const std::int64_t vocabulary = q.view->model->vocabulary;
  if (drafter.mask_token && (*drafter.mask_token < 0 || *drafter.mask_token >= vocabulary)) {
    out.refuse(
        "draft.config.mask_token_id", text(*drafter.mask_token),
        "draft: mask token " + text(*drafter.mask_token) + " is not in the vocabulary of " + text(vocabulary),
        "correct the drafter's config");
  }
  if (drafter.pard_token && (*drafter.pard_token < 0 || *drafter.pard_token >= vocabulary)) {
    out.refuse(
        "draft.config.pard_token", text(*drafter.pard_token),
        "draft: PARD token " + text(*drafter.pard_token) + " is not in the vocabulary of " + text(vocabulary),
        "correct the drafter's config");
  }
  if (!drafter.markov) return;
  if (drafter.markov->rank < 0) {
    out.refuse("draft.config.markov_rank", text(drafter.markov->rank),
               "draft: markov_rank=" + text(drafter.markov->rank) + " is negative", "0 means no head");
  }
  const std::string& type = drafter.markov->type;
  if (drafter.markov->rank > 0 && type != "vanilla" && type != "gated" && type != "rnn") {
    out.refuse("draft.config.markov_head_type", type,
               "draft: markov_head_type=" + type + " is not one of vanilla, gated, rnn",
               "correct the drafter's config");
  }
}

constexpr Rule kRules[] = {
    {.id = "G0",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "quantised modules matched under the wrong prefix",
     .reason =
         "While loading: names are the checkpoint's, and the counts of both roles must agree (vllm#49893)."},
    {.id = "G1",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter's weight format is not given",
     .reason = "Its own file's; inside the target's file the target's, unless its modules are left out there "
               "(vllm#49552)."},
    {.id = "G2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "an explicit weight format other than the checkpoint's",
     .reason = "Bytes would be read as what they are not.",
     .vllm = "vllm#52220",
     .check = check_g2},
    {.id = "G3",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "an expert kernel for quantised weights, on experts that are not",
     .reason = "Inherited by a drafter it becomes auto; asked for it is refused.",
     .vllm = "vllm#56832, vllm#51960: moe_backend is not supported for unquantized MoE",
     .check = check_g3},
    {.id = "G4",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "the drafter's attention kernel is not given",
     .reason =
         "The target's, if both have the same kind of attention and head size; else auto (vllm#52288)."},
    {.id = "G5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a packed latent cache type on keys and values per head",
     .reason = "Inherited it becomes auto; asked for it is refused.",
     .vllm = "vllm#48380, vllm#58733",
     .check = check_g5_target},
    {.id = "G6",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "auto is left to whoever builds the cache",
     .reason = "By construction: the cache's plan holds a type (vllm#54690)."},
    {.id = "G7",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a cache type in the target's file overrides the drafter's",
     .reason = "By construction: each role reads its own (vllm#44879)."},
    {.id = "G8",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "groups whose blocks cannot share a pool",
     .reason = "By construction: a pool per group (vllm#41559)."},
    {.id = "G9",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "a layer writes a resolved value back",
     .reason = "By construction: a plan is const once made (vllm#58733)."},
    {.id = "X8",
     .engines = kOthers,
     .verdict = Verdict::Refuse,
     .condition = "nvfp4 cache with MLA",
     .reason = "No kernel reads it.",
     .vllm = "nvfp4 KV cache is not supported with MLA",
     .check = check_x8},
    {.id = "H1",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a draft model of another vocabulary",
     .reason = "Token ids mean different texts, and may be out of range.",
     .vllm = "Target and draft model should have the same vocabulary size (llama.cpp#3812)",
     .check = check_h1},
    {.id = "H2",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a draft head larger than the target's vocabulary",
     .reason = "A smaller one has a map, a larger one drafts tokens that are not there.",
     .vllm = "vllm-ascend#9795",
     .check = check_h2},
    {.id = "H3",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "a full-vocabulary drafter with an id map",
     .reason = "No map is applied (vllm#53458)."},
    {.id = "H4",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a drafter made for another vocabulary",
     .reason = "It belongs to another target.",
     .vllm = "vllm#46435",
     .check = check_h4},
    {.id = "H5",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a drafter made for another hidden size or layer count",
     .reason = "It belongs to another target.",
     .vllm = "target_hidden_size, hidden_size must equal the target's",
     .check = check_h5},
    {.id = "H6",
     .engines = kTrtllmOnly,
     .verdict = Verdict::Refuse,
     .condition = "another number of drafts than the trained block has",
     .reason = "TensorRT-LLM's own rule. Everywhere else fewer drafts cut the block, and more extrapolate "
               "positions.",
     .trtllm = "block_size must equal max_draft_len",
     .check = check_h6},
    {.id = "H7",
     .engines = kAllEngines,
     .verdict = Verdict::Refuse,
     .condition = "a mask token outside the vocabulary, a negative Markov rank, an unknown head",
     .reason = "Rank 0 means no head; kinds are vanilla, gated and rnn.",
     .vllm = "Qwen3-Omni DSpark requires",
     .check = check_h7},
    {.id = "H8",
     .engines = kAllEngines,
     .verdict = Verdict::ElseWhere,
     .condition = "the drafter's rotation style",
     .reason = "While reading its shape: its own keys."},
    {.id = "H9",
     .engines = kAllEngines,
     .verdict = Verdict::Derive,
     .condition = "hf_overrides with a drafter inside the target's file",
     .reason = "They are applied to the one config that both are read from (vllm#52220)."},
};

constexpr Rule kLater[] = {
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

std::span<const Rule> kernel_rules() { return std::span(kRules).first(11); }
std::span<const Rule> contract_rules() { return std::span(kRules).subspan(11); }
std::span<const Rule> later_rules() { return kLater; }

}  // namespace outrider::plan
