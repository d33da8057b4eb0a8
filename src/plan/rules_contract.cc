// H: what a drafter says of its target.
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

// vLLM sets such a key without a word, and nothing reads it.
void check_h9(const Question& q, Reporter& out) {
  for (const StrayOverride& stray : q.facts.stray_overrides) {
    const std::string message = "target: hf_overrides." + stray.key + " reaches no setting of the model";
    if (q.is(Engine::Outrider)) {
      out.refuse("target.hf_overrides", stray.key, message, stray.remedy);
    } else {
      out.warn("target.hf_overrides", Json(stray.key), message + "; " + stray.remedy);
    }
  }
}

constexpr Rule kRules[] = {
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
     .verdict = Verdict::Refuse,
     .condition = "hf_overrides with a key that reaches no setting",
     .reason =
         "A nested config reads its own object, and a misspelt key is read by nobody; under other rules it "
         "is noted. What is reached holds for a drafter inside the target's file too (vllm#52220): both are "
         "read from the one config.",
     .check = check_h9},
};

}  // namespace

std::span<const Rule> contract_rules() { return kRules; }

}  // namespace outrider::plan
