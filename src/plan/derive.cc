#include "plan/derive.h"

#include <algorithm>

#include "base/flags.h"
#include "plan/derive_draft.h"
#include "plan/derive_run.h"

namespace outrider::plan {
namespace {

using checkpoint::KvGroup;
using checkpoint::KvKind;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class TargetBuilder {
 public:
  TargetBuilder(const Intent& intent, const checkpoint::Facts& facts)
      : intent_(intent), asked_(intent.target), facts_(facts) {}

  RoleSettings build(std::vector<Derivation>& derivations) && {
    settings_.model = intent_.model;
    take_sizes();
    take_experts();
    take_kernels();
    take_lengths();
    derivations = std::move(derivations_);
    return settings_;
  }

 private:
  template <class T>
  void change(std::string field, T& member, T value, std::string why) {
    if (member == value) return;
    derivations_.push_back({.field = "target." + std::move(field),
                            .from = base::json_of(member),
                            .to = base::json_of(value),
                            .why = std::move(why)});
    member = std::move(value);
  }
  template <class T>
  static void take(T& member, const std::optional<T>& asked) {
    if (asked) member = *asked;
  }

  void take_sizes() {
    take(settings_.tensor_parallel_size, asked_.tensor_parallel_size);
    take(settings_.pipeline_parallel_size, asked_.pipeline_parallel_size);
    take(settings_.data_parallel_size, asked_.data_parallel_size);
    settings_.data_parallel_size_local =
        asked_.data_parallel_size_local.value_or(settings_.data_parallel_size);
    take(settings_.prefill_context_parallel_size, asked_.prefill_context_parallel_size);
    take(settings_.decode_context_parallel_size, asked_.decode_context_parallel_size);
    settings_.cp_kv_cache_interleave_size =
        asked_.cp_kv_cache_interleave_size.value_or(asked_.dcp_kv_cache_interleave_size.value_or(1));
    take(settings_.dcp_comm_backend, asked_.dcp_comm_backend);
    take(settings_.kv_block_size, asked_.block_size);
  }

  void take_experts() {
    take(settings_.enable_expert_parallel, asked_.enable_expert_parallel);
    take(settings_.enable_eplb, asked_.enable_eplb);
    take(settings_.enable_elastic_ep, asked_.enable_elastic_ep);
    take(settings_.expert_placement_strategy, asked_.expert_placement_strategy);
    take(settings_.enable_ep_weight_filter, asked_.enable_ep_weight_filter);
    take(settings_.num_redundant_experts, intent_.eplb.num_redundant_experts);
    take(settings_.window_size, intent_.eplb.window_size);
    take(settings_.step_interval, intent_.eplb.step_interval);
    take(settings_.use_async, intent_.eplb.use_async);
    if (intent_.eplb.communicator) settings_.communicator = intent_.eplb.communicator;
    take(settings_.policy, intent_.eplb.policy);
    take(settings_.log_balancedness, intent_.eplb.log_balancedness);
    take(settings_.log_balancedness_interval, intent_.eplb.log_balancedness_interval);
    const auto& moe = facts_.model.moe;
    if (intent_.eplb_file && intent_.eplb_file->num_slots && moe) {
      settings_.num_redundant_experts = *intent_.eplb_file->num_slots - moe->experts;
    }
    if (settings_.enable_eplb) {
      change("enable_ep_weight_filter", settings_.enable_ep_weight_filter, false,
             "balancing needs every replica (D22)");
    }
    const bool falls_back = (moe && moe->groups <= 1) || settings_.num_redundant_experts > 0 ||
                            settings_.enable_eplb || !settings_.enable_expert_parallel;
    if (settings_.expert_placement_strategy == "round_robin" && falls_back) {
      change("expert_placement_strategy", settings_.expert_placement_strategy, std::string("linear"),
             "round robin needs expert parallelism, more than one expert group and no balancing; loader and "
             "map both use linear (D23)");
    }
  }

  void take_kernels() {
    if (asked_.all2all_backend) settings_.all2all_backend = *asked_.all2all_backend;
    if (is_one_of(settings_.all2all_backend, {"naive", "pplx"})) {
      change("all2all_backend", settings_.all2all_backend, std::string("allgather_reducescatter"),
             "vLLM replaced this backend (P4)");
    }
    take(settings_.enable_dbo, asked_.enable_dbo);
    take(settings_.distributed_executor_backend, asked_.distributed_executor_backend);
    take(settings_.moe_backend, asked_.moe_backend);
    take(settings_.linear_backend, asked_.linear_backend);
    take(settings_.attention_backend, asked_.attention_backend);
    take(settings_.kv_cache_dtype, asked_.kv_cache_dtype);
    take(settings_.load_format, asked_.load_format);
    take(settings_.dtype, asked_.dtype);
    if (asked_.quantization) {
      settings_.quantization = asked_.quantization;
    } else if (facts_.model.quantisation) {
      settings_.quantization = facts_.model.quantisation->method;
    } else if (facts_.model.packed_bits) {
      settings_.quantization = "int" + std::to_string(*facts_.model.packed_bits);
    }
  }

  void take_lengths() {
    settings_.max_model_len = asked_.max_model_len ? asked_.max_model_len : facts_.model.positions_max;
    settings_.max_num_seqs = asked_.max_num_seqs;
    settings_.max_num_batched_tokens = asked_.max_num_batched_tokens;
    take(settings_.enforce_eager, asked_.enforce_eager);
    take(settings_.enable_prefix_caching, asked_.enable_prefix_caching);
    take(settings_.async_scheduling, asked_.async_scheduling);
    take(settings_.seed, asked_.seed);
  }

  const Intent& intent_;
  const AskedTarget& asked_;
  const checkpoint::Facts& facts_;
  RoleSettings settings_;
  std::vector<Derivation> derivations_;
};

// One entry per field in which the drafter differs without having been asked to.
void list_differences(const RoleSettings& target, const RoleSettings& draft, const Reasons& reasons,
                      std::vector<Derivation>& derivations) {
  std::vector<Json> theirs;
  base::for_each_field(target,
                       [&](const auto&, const auto& value) { theirs.push_back(base::json_of(value)); });
  std::size_t at = 0;
  base::for_each_field(draft, [&](const auto& field, const auto& value) {
    const Json& from = theirs[at++];
    const Json to = base::json_of(value);
    if (from == to || field.name == "model") return;
    OUTRIDER_CHECK_MSG(field.note.policy != Policy::Inherit,
                       "a drafter's inherited field changed: " + std::string(field.name));
    const auto reason = reasons.find(field.name);
    OUTRIDER_CHECK_MSG(reason != reasons.end(),
                       "a drafter's field changed without a reason: " + std::string(field.name));
    if (reason->second != "asked for") {
      derivations.push_back({.field = "draft." + std::string(field.note.printed),
                             .from = from,
                             .to = to,
                             .why = reason->second});
    }
  });
}

void derive_roles(Question& question) {
  question.target = TargetBuilder(question.intent, question.facts.target).build(question.derivations);
  Reasons reasons;
  if (question.wants_draft()) {
    if (question.view) question.draft = derive_draft(question.target, question, reasons);
    question.drafting = derive_drafting(question);
  }
  derive_run(question, reasons);
  if (!question.wants_draft()) return;
  if (question.draft) list_differences(question.target, *question.draft, reasons, question.derivations);
  if (!question.intent.draft->method && !question.method.name.empty()) {
    question.derivations.push_back({.field = "draft.method",
                                    .from = Json(),
                                    .to = Json(question.method.name),
                                    .why = "found from the drafter's config"});
  }
  if (!question.intent.draft->num_speculative_tokens && question.drafting->num_speculative_tokens > 0) {
    question.derivations.push_back({.field = "draft.num_speculative_tokens",
                                    .from = Json(),
                                    .to = Json(question.drafting->num_speculative_tokens),
                                    .why = "what the drafter drafts in one go"});
  }
}

}  // namespace

ParallelShape shape_of(const RoleSettings& settings) {
  return {.dp = size_of(settings.data_parallel_size),
          .pp = size_of(settings.pipeline_parallel_size),
          .pcp = size_of(settings.prefill_context_parallel_size),
          .tp = size_of(settings.tensor_parallel_size),
          .dcp = size_of(settings.decode_context_parallel_size)};
}

std::int64_t expert_ranks_of(const RoleSettings& settings) {
  return settings.enable_expert_parallel ? shape_of(settings).expert_ranks() : 1;
}

bool needs_quantised_experts(std::string_view backend) {
  return is_one_of(backend, {"marlin", "deep_gemm", "deep_gemm_mega_moe", "cutlass", "flashinfer_cutedsl",
                             "flashinfer_b12x", "humming", "hpc"});
}
bool needs_expert_parallel(std::string_view backend) { return backend == "deep_gemm_mega_moe"; }
bool is_packed_latent(std::string_view type) { return type.ends_with("_ds_mla"); }
bool is_collective_loader(std::string_view format) {
  return is_one_of(format, {"fastsafetensors", "instanttensor", "collective"});
}

bool keeps_latent_rows(const std::vector<KvGroup>& kv) {
  return std::any_of(kv.begin(), kv.end(), [](const KvGroup& group) { return group.kind == KvKind::Latent; });
}

std::optional<std::string> asked_draft_loader(const Intent& intent) {
  if (!intent.draft || !intent.draft->draft_load_config) return std::nullopt;
  const Json* format = intent.draft->draft_load_config->find("load_format");
  if (format == nullptr || format->string() == nullptr) return std::nullopt;
  return *format->string();
}

bool file_has_draft_rows(const EplbFile& file, std::int64_t target_layers) {
  return file.assignments && std::any_of(file.assignments->begin(), file.assignments->end(),
                                         [&](const auto& row) { return row.first >= target_layers; });
}

std::optional<std::string> why_not_sharded(const std::vector<KvGroup>& kv, std::int64_t heads,
                                           std::int64_t tensor, std::int64_t shards) {
  if (tensor < 1 || shards < 1) return std::nullopt;
  if (tensor % shards != 0) {
    return "its " + std::to_string(tensor) + " tensor ranks cannot form groups of " + std::to_string(shards);
  }
  for (const KvGroup& group : kv) {
    if (group.window) return "a sliding window cannot be shared over ranks";
    if (group.kind != KvKind::PerHead) continue;
    const std::int64_t kv_heads = std::max(group.kv_heads, 1), room = tensor / kv_heads;
    if (room <= 1 || shards > room || heads / kv_heads % shards != 0) {
      return "its " + std::to_string(kv_heads) + " KV heads are not held by all " + std::to_string(shards) +
             " ranks of a group";
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> parse_partition(std::string_view text) {
  std::vector<std::int64_t> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const auto number = base::parse_integer(part);
    if (!number || *number < 0 || *number > kSizeMax || parts.size() > 4096) return std::nullopt;
    parts.push_back(*number);
    if (comma == std::string_view::npos) return parts;
    text = text.substr(comma + 1);
  }
}

std::vector<std::int64_t> derive_layer_split(const Question& question) {
  const std::int64_t layers = question.model().layer_count,
                     stages = size_of(question.target.pipeline_parallel_size);
  if (question.intent.pp_layer_partition) {
    const auto parts = parse_partition(*question.intent.pp_layer_partition);
    std::int64_t sum = 0;
    for (const std::int64_t part : parts.value_or(std::vector<std::int64_t>{})) sum += part;
    if (parts && static_cast<std::int64_t>(parts->size()) == stages && sum == layers) return *parts;
  }
  return split_layers(layers, std::min<std::int64_t>(stages, 4096));
}

Question derive_question(const Intent& intent, const ModelsFacts& facts, const Machine& machine) {
  Question question{.intent = intent,
                    .facts = facts,
                    .machine = machine,
                    .engine = intent.engine,
                    .method = derive_method(intent, facts),
                    .view = std::nullopt,
                    .target = {},
                    .draft = std::nullopt,
                    .drafting = std::nullopt,
                    .derivations = {}};
  question.view = derive_view(intent, facts, question.method);
  derive_roles(question);
  return question;
}

}  // namespace outrider::plan
