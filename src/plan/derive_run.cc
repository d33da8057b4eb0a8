#include "plan/derive_run.h"

#include <algorithm>

#include "plan/process.h"

namespace outrider::plan {
namespace {

constexpr std::int64_t kRowsMax = 2048;   // of a step: enough to keep a prompt's products busy
constexpr std::int64_t kNgramDrafts = 5;  // vLLM's usual number
constexpr std::int64_t kSizeCap = std::int64_t{1} << 31;  // rules refuse more; products of two must fit

std::int64_t capped(std::int64_t asked) { return std::clamp<std::int64_t>(asked, 1, kSizeCap); }

class RunBuilder {
 public:
  RunBuilder(Question& question, Reasons& reasons)
      : question_(question), target_(question.target), reasons_(reasons) {}

  void build() {
    take_types();
    take_sizes();
    take_process();
    take_drawing();
    take_blocks();
    if (question_.draft) take_draft();
  }

 private:
  // A value that was not asked for in these words is a derivation.
  template <class T>
  void decide(const char* field, std::optional<T>& member, T value, bool asked, std::string why) {
    member = std::move(value);
    if (asked) return;
    question_.derivations.push_back({.field = std::string("target.") + field,
                                     .from = Json(),
                                     .to = base::json_of(*member),
                                     .why = std::move(why)});
  }

  // f16 weights have three bits more than bf16 holds: they are computed in full.
  void take_types() {
    const std::string& asked = target_.dtype;
    const std::string& stored = question_.model().dtype;
    const bool own = asked != "auto";
    std::string type = asked == "float" ? "float32" : asked == "half" ? "float16" : asked;
    if (!own) type = stored.empty() || stored == "bfloat16" ? "bfloat16" : "float32";
    decide("compute_dtype", target_.compute_dtype, std::move(type), own,
           stored == "float16" ? "float16 weights hold more bits than bfloat16: they are computed in full"
                               : "as the weights");
    decide("kv_store_dtype", target_.kv_store_dtype, stored_type(target_.kv_cache_dtype),
           target_.kv_cache_dtype != "auto", "as the computation");
  }
  std::string stored_type(const std::string& kv_cache_dtype) const {
    return kv_cache_dtype == "auto" ? *target_.compute_dtype : kv_cache_dtype;
  }

  void take_sizes() {
    const auto& requests = question_.intent.requests;
    if (!target_.max_num_seqs) {
      const std::int64_t known = requests ? static_cast<std::int64_t>(requests->size()) : 1;
      decide("max_num_seqs", target_.max_num_seqs, std::max<std::int64_t>(known, 1), false,
             requests ? "all requests at the same time" : "one sequence at a time");
    }
    if (!target_.max_num_batched_tokens) {
      decide("max_num_batched_tokens", target_.max_num_batched_tokens, kRowsMax, false,
             "rows enough for products that are not bound by memory");
    }
  }

  void take_process() {
    const AskedTarget& asked = question_.intent.target;
    if (auto threads = derive_threads(asked, question_.machine))
      decide("num_threads", target_.num_threads, *threads, asked.num_threads.has_value(),
             "the machine's cores");
    if (auto kernels = derive_kernel_target(asked, question_.machine))
      decide("kernel_target", target_.kernel_target, std::move(*kernels), asked.kernel_target.has_value(),
             "the best that the machine has");
  }

  // One way to draw for plain steps and for verification: a text must not depend on the drafter.
  void take_drawing() {
    target_.draw_method = question_.drafting
                              ? question_.drafting->rejection_sample_method
                              : question_.intent.target.rejection_sample_method.value_or("standard");
  }

  std::int64_t drafts() const {
    return question_.drafting ? capped(question_.drafting->num_speculative_tokens) : 0;
  }

  // Room for every sequence that runs at once, from its first token to its last, a round of drafts behind it
  // and a block that it fills in part.
  void take_blocks() {
    const std::int64_t block = capped(target_.kv_block_size), sequences = capped(*target_.max_num_seqs);
    const auto& asked = question_.intent.target.num_kv_blocks;
    const auto& requests = question_.intent.requests;
    if (asked) {
      target_.num_kv_blocks = asked;
    } else if (requests) {
      std::vector<std::int64_t> each;
      for (const KnownRequest& request : *requests) {
        std::int64_t positions = positions_of(question_, request);
        if (drafts() > 0) positions += drafts() + 1;
        positions = std::min(positions, capped(target_.max_model_len.value_or(kSizeCap)));
        each.push_back(blocks_for(positions, block) + 1);
      }
      std::sort(each.rbegin(), each.rend());
      each.resize(std::min(each.size(), static_cast<std::size_t>(sequences)));
      std::int64_t sum = 0;
      for (const std::int64_t blocks : each) sum += blocks;
      decide("num_kv_blocks", target_.num_kv_blocks, sum, false, "what the requests can grow to");
    } else if (target_.max_model_len) {
      decide("num_kv_blocks", target_.num_kv_blocks,
             sequences * blocks_for(capped(*target_.max_model_len), block), false,
             "max_num_seqs sequences of max_model_len tokens");
    }
  }

  void take_draft() {
    RoleSettings& draft = *question_.draft;
    draft.compute_dtype = target_.compute_dtype;
    draft.num_threads = target_.num_threads;
    draft.kernel_target = target_.kernel_target;
    draft.draw_method = target_.draw_method;
    draft.max_num_seqs = target_.max_num_seqs;
    draft.max_num_batched_tokens = target_.max_num_batched_tokens;
    draft.kv_store_dtype = stored_type(draft.kv_cache_dtype);
    reasons_["kv_store_dtype"] = question_.intent.draft->kv_cache_dtype
                                     ? "asked for"
                                     : "the target's packed type means nothing here: as the computation";
    if (!target_.num_kv_blocks) return;
    const std::int64_t slots = question_.drafting->block_slots.value_or(drafts());
    draft.num_kv_blocks =
        capped(*target_.num_kv_blocks) +
        capped(*target_.max_num_seqs) * (blocks_for(capped(slots), capped(draft.kv_block_size)) + 1);
    reasons_["num_kv_blocks"] =
        "context of every position that the target holds, and a block of drafts per sequence";
  }

  Question& question_;
  RoleSettings& target_;
  Reasons& reasons_;
};

// Least variance: as many sure drafts as fit, one by chance, none behind.
std::vector<double> rates_of_length(double length, std::int64_t drafts) {
  std::vector<double> rates;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(drafts, kSizeMax); ++i)
    rates.push_back(std::clamp(length - 1 - static_cast<double>(i), 0.0, 1.0));
  return rates;
}

std::optional<std::vector<double>> derive_rates(const AskedDraft& asked, const DraftSettings& drafting) {
  if (drafting.rejection_sample_method != "synthetic") return std::nullopt;
  if (asked.synthetic_acceptance_length)
    return rates_of_length(*asked.synthetic_acceptance_length, drafting.num_speculative_tokens);
  const Json::Array* listed =
      asked.synthetic_acceptance_rates ? asked.synthetic_acceptance_rates->array() : nullptr;
  std::vector<double> rates;
  for (const Json& rate : listed == nullptr ? Json::Array{} : *listed)
    rates.push_back(rate.number().value_or(0));
  return rates;
}

}  // namespace

std::int64_t positions_of(const Question& question, const KnownRequest& request) {
  return std::min(capped(request.prompt_tokens) + capped(request.output_tokens),
                  capped(question.target.max_model_len.value_or(kSizeCap)));
}

std::int64_t blocks_for(std::int64_t positions, std::int64_t block) {
  return (positions + block - 1) / block;
}

std::int64_t idle_slots(const checkpoint::DrafterFacts& drafter) { return drafter.anchor_first ? 0 : 1; }

std::int64_t block_slots(const Question& question, std::int64_t drafts) {
  const checkpoint::DrafterFacts& drafter = *question.view->drafter;
  if (const auto asked = question.intent.draft->block_size) return *asked;
  return std::max<std::int64_t>(*drafter.block_size, capped(drafts) + idle_slots(drafter));
}

std::optional<std::int64_t> derive_run_tokens(const Question& question) {
  if (!question.is(Engine::Outrider)) return std::nullopt;
  if (question.method.name == "ngram") return kNgramDrafts;
  const auto& asked = question.intent.draft->block_size;
  if (!asked || !question.view || !question.view->drafter->block_size) return std::nullopt;
  return std::max<std::int64_t>(capped(*asked) - idle_slots(*question.view->drafter), 1);
}

void derive_run_drafting(const Question& question, DraftSettings& drafting) {
  if (!question.is(Engine::Outrider)) return;
  const AskedDraft& asked = *question.intent.draft;
  if (!asked.rejection_sample_method && question.intent.target.rejection_sample_method)
    drafting.rejection_sample_method = *question.intent.target.rejection_sample_method;
  drafting.confidence_threshold = asked.confidence_threshold.value_or(0);
  drafting.synthetic_acceptance_rates = derive_rates(asked, drafting);
  if (question.method.name == "ngram") {
    drafting.prompt_lookup_min = asked.prompt_lookup_min.value_or(1);
    drafting.prompt_lookup_max = asked.prompt_lookup_max.value_or(5);
  }
  if (question.view && question.view->drafter->block_size)
    drafting.block_slots = block_slots(question, drafting.num_speculative_tokens);
}

void derive_run(Question& question, Reasons& reasons) {
  if (question.is(Engine::Outrider)) RunBuilder(question, reasons).build();
}

}  // namespace outrider::plan
