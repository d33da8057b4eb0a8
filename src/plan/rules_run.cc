// R: what a command of ours cannot run, though it can be planned; MEM: what the machine has no memory for.
#include <algorithm>

#include "plan/ask_values.h"
#include "plan/derive_run.h"
#include "plan/memory.h"
#include "plan/print_text.h"
#include "plan/process.h"
#include "plan/rules.h"

namespace outrider::plan {
namespace {

bool runs(const Question& q) { return q.intent.use != Use::Plan; }
bool is_one_of(const std::string& value, const std::vector<std::string_view>& words) {
  return words.empty() || std::find(words.begin(), words.end(), value) != words.end();
}

// --- R1: values ---
void check_word(const Question& q, const std::string& role, std::string_view field, const std::string& value,
                Reporter& out) {
  // Which methods there are is judged by S5, which of them run is judged here.
  const auto words = words_of(field == "method" ? "run_method" : field, Engine::Outrider, q.intent.use);
  if (is_one_of(value, words)) return;
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  out.refuse(
      role + "." + std::string(field), value.substr(0, 120),
      role + ": " + std::string(field) + "=" + value.substr(0, 120) + " can be planned, but does not run yet",
      "one of " + all);
}

void check_r1(const Question& q, Reporter& out) {
  if (!runs(q)) return;
  const auto check_role = [&](const std::string& role, const RoleSettings& settings) {
    check_word(q, role, "kv_cache_dtype", settings.kv_cache_dtype, out);
    if (settings.quantization) check_word(q, role, "quantization", *settings.quantization, out);
    check_word(q, role, "load_format", settings.load_format, out);
  };
  check_role("target", q.target);
  check_word(q, "target", "dtype", q.target.dtype, out);
  const auto& drawing = q.intent.target.rejection_sample_method;
  if (drawing) check_word(q, "target", "rejection_sample_method", *drawing, out);
  if (q.draft) check_role("draft", *q.draft);
  if (!q.drafting) return;
  if (q.method.known && !q.method.name.empty()) check_word(q, "draft", "method", q.method.name, out);
  check_word(q, "draft", "draft_sample_method", q.drafting->draft_sample_method, out);
  const auto& asked = q.intent.draft->rejection_sample_method;
  if (asked) check_word(q, "draft", "rejection_sample_method", *asked, out);
}

// --- R2: fields ---
template <class Asked>
void check_fields(const Asked& asked, const std::string& role, Reporter& out) {
  base::for_each_field(asked, [&](const auto& field, const auto& member) {
    if (!member || (field.note.uses.bits & kAllButPlan.bits) != 0) return;
    const std::string value = base::json_of(*member).excerpt(120);
    out.refuse(role + "." + std::string(field.name), value,
               role + ": " + std::string(field.name) + "=" + value + " can be planned, but does not run yet",
               "leave it out");
  });
}

// Keys that the method has no use for.
void check_keys_of_method(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.method.known || q.method.name.empty()) return;
  const AskedDraft& asked = *q.intent.draft;
  const auto check = [&](const char* key, const auto& asked_for, bool has_use) {
    if (!asked_for || has_use) return;
    out.refuse(std::string("draft.") + key, base::json_of(*asked_for).excerpt(120),
               std::string("draft: ") + key + " has no meaning for method " + q.method.name, "leave it out");
  };
  const bool looks_up = q.method.name == "ngram", has_weights = !q.method.without_model;
  check("quantization", asked.quantization, has_weights);
  check("kv_cache_dtype", asked.kv_cache_dtype, has_weights);
  check("confidence_threshold", asked.confidence_threshold, has_weights);
  check("block_size", asked.block_size, has_weights);
  check("draft_sample_method", asked.draft_sample_method, has_weights);
  check("draft_tensor_parallel_size", asked.draft_tensor_parallel_size, has_weights);
  check("prompt_lookup_min", asked.prompt_lookup_min, looks_up);
  check("prompt_lookup_max", asked.prompt_lookup_max, looks_up);
}

void check_r2(const Question& q, Reporter& out) {
  check_keys_of_method(q, out);
  if (!runs(q)) return;
  check_fields(q.intent.target, "target", out);
  if (!q.intent.draft) return;
  check_fields(*q.intent.draft, "draft", out);
  if (q.view && (q.view->inside_target || q.view->native_elsewhere)) {
    out.refuse("draft.method", q.method.name,
               "draft: a drafter inside a target's checkpoint can be planned, but does not run yet",
               "use a drafter with a checkpoint of its own");
  }
  if (q.method.without_model && q.intent.draft->model) {
    out.refuse("draft.model", *q.intent.draft->model,
               "draft: a model has no meaning for method " + q.method.name, "leave it out");
  }
}

// --- R3: the machine ---
void check_r3(const Question& q, Reporter& out) {
  for (Problem& problem : process_problems(q.intent.target, q.machine)) {
    out.refuse(std::move(problem.field), std::move(problem.value), std::move(problem.message),
               std::move(problem.remedy));
  }
}

// --- R4: the block ---
void check_r4(const Question& q, Reporter& out) {
  if (!q.view || !q.view->drafter->block_size || !q.intent.draft->block_size) return;
  const std::int64_t slots = *q.intent.draft->block_size, idle = idle_slots(*q.view->drafter);
  const std::int64_t drafts = std::max<std::int64_t>(q.drafting->num_speculative_tokens, 1);
  if (!sane(slots) || !sane(drafts) || slots >= drafts + idle) return;
  out.refuse("draft.block_size", text(slots),
             "draft: block_size=" + text(slots) + " has no room for num_speculative_tokens=" + text(drafts) +
                 ": at least " + text(drafts + idle) + " rows are needed",
             "drop block_size: it grows by itself where more drafts need more");
}

// --- R5: prompt lookup; R6: confidence ---
void check_r5(const Question& q, Reporter& out) {
  if (!q.drafting || !q.drafting->prompt_lookup_min || !q.drafting->prompt_lookup_max) return;
  constexpr std::int64_t kLookupMax = 64;
  const std::int64_t least = *q.drafting->prompt_lookup_min, most = *q.drafting->prompt_lookup_max;
  const auto in_range = [&](const char* field, std::int64_t value) {
    if (value >= 1 && value <= kLookupMax) return;
    out.refuse(std::string("draft.") + field, text(value),
               std::string("draft: ") + field + "=" + text(value) + " is not from 1 to " + text(kLookupMax),
               "give a length of 1 to " + text(kLookupMax));
  };
  in_range("prompt_lookup_min", least);
  in_range("prompt_lookup_max", most);
  if (least <= most) return;
  out.refuse("draft.prompt_lookup_min", text(least),
             "draft: prompt_lookup_min=" + text(least) + " exceeds prompt_lookup_max=" + text(most),
             "lower the one or raise the other");
}

void check_r6(const Question& q, Reporter& out) {
  if (!q.intent.draft || !q.intent.draft->confidence_threshold) return;
  const double threshold = *q.intent.draft->confidence_threshold;
  if (threshold >= 0 && threshold <= 1) return;
  const std::string shown = Json(threshold).excerpt();
  out.refuse("draft.confidence_threshold", shown,
             "draft: confidence_threshold=" + shown + " is not in [0, 1]", "give a probability");
}

// --- R7: packed weights ---
void check_r7(const Question& q, Reporter& out) {
  const auto judge = [&](const std::string& role, const std::optional<std::string>& asked,
                         const checkpoint::ModelFacts& model) {
    if (!asked || !model.packed_bits) return;
    const std::string held = "int" + text(*model.packed_bits);
    if (*asked == held) return;
    out.refuse(role + ".quantization", *asked,
               role + ": quantization=" + *asked + " but the weights are packed as " + held,
               "leave it out, or name the original files");
  };
  judge("target", q.intent.target.quantization, q.model());
  if (q.view) judge("draft", q.intent.draft->quantization, *q.view->model);
}

// --- R8: bounds ---
struct Bound {
  const char* field;
  const std::optional<std::int64_t>& asked;
  std::int64_t most;
};

void check_r8(const Question& q, Reporter& out) {
  if (!runs(q)) return;
  const AskedTarget& target = q.intent.target;
  const auto judge = [&](const std::string& role, std::initializer_list<Bound> bounds) {
    for (const Bound& bound : bounds) {
      if (!bound.asked || *bound.asked <= bound.most) continue;
      out.refuse(role + "." + bound.field, text(*bound.asked),
                 role + ": " + bound.field + "=" + text(*bound.asked) + " is more than " + text(bound.most) +
                     ", the most that runs",
                 "lower it");
    }
  };
  judge("target", {{"block_size", target.block_size, 4096},
                   {"max_num_seqs", target.max_num_seqs, 4096},
                   {"max_num_batched_tokens", target.max_num_batched_tokens, 1 << 20},
                   {"max_model_len", target.max_model_len, (std::int64_t{1} << 31) - 1}});
  if (target.seed && *target.seed < 0)
    out.refuse("target.seed", text(*target.seed), "target: seed=" + text(*target.seed) + " is negative",
               "give 0 or more");
  if (!q.intent.draft) return;
  judge("draft", {{"num_speculative_tokens", q.intent.draft->num_speculative_tokens, 256},
                  {"block_size", q.intent.draft->block_size, 512}});
}

void check_blocks(const Question& q, Reporter& out) {
  const auto& asked = q.intent.target.num_kv_blocks;
  if (!asked) return;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const std::string remedy = "leave it out: enough for all sequences is derived";
  if (*asked < 1 || *asked > kMost) {
    out.refuse("target.num_kv_blocks", text(*asked),
               "target: num_kv_blocks=" + text(*asked) + " is not from 1 to " + text(kMost), remedy);
    return;
  }
  const std::int64_t block = q.target.kv_block_size;
  std::int64_t longest = 0;
  for (const KnownRequest& request : q.intent.requests.value_or(std::vector<KnownRequest>{}))
    longest = std::max(longest, positions_of(q, request));
  if (block < 1 || *asked >= blocks_for(longest, block)) return;
  out.refuse("target.num_kv_blocks", text(*asked),
             "target: num_kv_blocks=" + text(*asked) + " of " + text(block) +
                 " tokens do not hold one request of " + text(longest),
             remedy);
}

// --- R9: drawing ---
void check_r9(const Question& q, Reporter& out) {
  const auto& flag = q.intent.target.rejection_sample_method;
  if (flag == "synthetic") {
    out.refuse("target.rejection_sample_method", *flag,
               "target: rejection_sample_method=synthetic forces the acceptance of drafts: there are none",
               "leave it out");
  }
  if (!flag || !q.intent.draft || !q.intent.draft->rejection_sample_method) return;
  const std::string& own = *q.intent.draft->rejection_sample_method;
  if (*flag == own) return;
  out.refuse("target.rejection_sample_method", *flag,
             "target: rejection_sample_method=" + *flag + " differs from the speculative config's, " + own,
             "give it once");
}

// --- MEM ---
std::string need_text(const MemoryNeed& need) {
  const auto bytes = [](double value) {
    return bytes_text(static_cast<std::int64_t>(std::min(value, 9e18)));
  };
  std::string parts = "weights " + bytes(need.weights) + ", keys and values " + bytes(need.kv);
  if (need.draft_weights + need.draft_kv > 0)
    parts += ", drafter " + bytes(need.draft_weights) + " and " + bytes(need.draft_kv);
  return bytes(need.total()) + " (" + parts + ", buffers " + bytes(need.buffers) + ")";
}

void check_memory(const Question& q, Reporter& out) {
  const auto need = derive_memory(q);
  if (!need || !q.machine.device_memory_bytes) return;
  const auto have = static_cast<double>(*q.machine.device_memory_bytes);
  if (need->total() <= have) return;
  const bool cache = need->kv + need->draft_kv > need->weights + need->draft_weights;
  const std::string told =
      "target: needs " + need_text(*need) + ", the machine has " + bytes_text(*q.machine.device_memory_bytes);
  if (cache && q.intent.requests) {
    // What was typed is named, where it is the blocks themselves.
    const AskedTarget& asked = q.intent.target;
    const bool of_block = !asked.num_kv_blocks && asked.block_size;
    out.refuse(of_block ? "target.block_size" : "target.num_kv_blocks",
               text(of_block ? *asked.block_size : *q.target.num_kv_blocks), told,
               asked.num_kv_blocks ? "lower --num-kv-blocks"
               : of_block
                   ? "lower --block-size, or --max-tokens"
                   : "write less at a time: lower --max-tokens, or --max-num-seqs, or give fewer prompts");
  } else if (cache) {
    out.refuse("target.max_model_len", text(q.target.max_model_len.value_or(0)), told,
               "lower max_model_len or max_num_seqs");
  } else {
    const bool packed = q.target.quantization.has_value();
    out.refuse("target.model", q.target.model.substr(0, 120), told,
               packed ? "cut the model to fit (hf_overrides), or use a smaller one"
                      : "quantise the weights (quantization int8 or int4), or cut the model to fit "
                        "(hf_overrides)");
  }
}

constexpr Rule kRules[] = {
    {.id = "R1",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a value that can be planned, in a command that runs the plan and cannot run it yet",
     .reason = "A plan is made for more than this program runs today. Forced (synthetic) acceptance runs in "
               "bench alone: its text is worthless.",
     .check = check_r1},
    {.id = "R2",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a key that the method has no use for; a setting or a drafter that can be planned, in a "
                  "command that cannot run it yet",
     .reason = "Nothing that was asked for is ignored in silence.",
     .check = check_r2},
    {.id = "R3",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "kernels that the machine cannot run; threads beyond 4 times its cores, or beyond 512",
     .reason = "Threads meet at several barriers in a step. Those that wait for a core make all others wait: "
               "with many times the cores a token takes seconds.",
     .check = check_r3},
    {.id = "R4",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a draft block too small for the drafts asked for",
     .reason = "Each draft is a row of the block; where slot 0 holds the anchor alone, one row more.",
     .check = check_r4},
    {.id = "R5",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "prompt lookup of no length, or with its shortest match above its longest",
     .reason = "Suffixes of 1 to 64 tokens are looked up, the longest first.",
     .check = check_r5},
    {.id = "R6",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a confidence threshold outside [0, 1]",
     .reason = "It is compared with a probability.",
     .check = check_r6},
    {.id = "R7",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a weight format other than the one that the weights are packed in",
     .reason = "Packed weights cannot be quantised again: what was rounded away is gone.",
     .check = check_r7},
    {.id = "R8",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "a number beyond what is built for, in a command that runs the plan",
     .reason = "Counts of rows, slots and blocks are bounded, so that no product of them overflows.",
     .check =
         [](const Question& q, Reporter& out) {
           check_r8(q, out);
           check_blocks(q, out);
         }},
    {.id = "R9",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "two ways to draw tokens, or forced acceptance without a drafter",
     .reason = "Plain steps and verification draw alike, so that a text does not depend on the drafter.",
     .check = check_r9},
    {.id = "MEM",
     .engines = kOutriderOnly,
     .verdict = Verdict::Refuse,
     .condition = "weights, caches and buffers of one rank exceed the memory, where it is known",
     .reason = "Told before anything is read. Weights count as they will lie; mapped ones too, but for "
               "experts, whose pages come and go; buffers are an allowance.",
     .check = check_memory},
};

}  // namespace

std::span<const Rule> run_rules() { return kRules; }

}  // namespace outrider::plan
