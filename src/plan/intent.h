// Intent: what was asked, before anything is decided. Every member is optional: absent means that the user
// did not say, which is something else than saying the default. One list of fields per struct gives the
// flags, their help and the JSON keys; names are vLLM's (docs/plan.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "plan/engine.h"

namespace outrider::plan {

using base::Json;

// A field of the command line or of a JSON flag: who knows it, its line of help, and which of our commands
// take it. `shorts`: "-tp", "" for none.
struct AskNote {
  Engines engines;
  std::string_view value_name;
  std::string_view help;
  std::string_view shorts = "";
  Uses uses = kPlanOnly;
};
constexpr AskNote taken_by(Uses uses, AskNote note) {
  note.uses = uses;
  return note;
}

// Flags: "--" + the name with dashes.
struct AskedTarget {
  std::optional<std::int64_t> tensor_parallel_size, pipeline_parallel_size, data_parallel_size,
      data_parallel_size_local, prefill_context_parallel_size, decode_context_parallel_size,
      cp_kv_cache_interleave_size, dcp_kv_cache_interleave_size;
  std::optional<std::string> dcp_comm_backend;
  std::optional<bool> enable_expert_parallel, enable_eplb, enable_elastic_ep;
  std::optional<std::string> expert_placement_strategy, all2all_backend;
  std::optional<bool> enable_ep_weight_filter, enable_dbo, data_parallel_hybrid_lb, data_parallel_external_lb;
  std::optional<std::int64_t> nnodes;
  std::optional<std::string> distributed_executor_backend, moe_backend, linear_backend, attention_backend,
      kv_cache_dtype;
  std::optional<std::int64_t> block_size;
  std::optional<std::string> quantization, load_format, dtype;
  std::optional<std::int64_t> max_model_len, max_num_seqs, max_num_batched_tokens, seed, num_threads,
      num_kv_blocks;
  std::optional<std::string> kernel_target, rejection_sample_method;
  std::optional<bool> enforce_eager, enable_prefix_caching, async_scheduling;
  std::optional<Json> hf_overrides, model_loader_extra_config;
  friend bool operator==(const AskedTarget&, const AskedTarget&) = default;
};

// Keys of --speculative-config.
struct AskedDraft {
  std::optional<std::string> method, model;
  std::optional<std::int64_t> num_speculative_tokens, draft_tensor_parallel_size, block_size, max_model_len;
  std::optional<std::string> draft_sample_method, rejection_sample_method, quantization, moe_backend,
      attention_backend, kv_cache_dtype;
  std::optional<Json> draft_load_config;
  std::optional<bool> enforce_eager, enable_expert_parallel;
  std::optional<std::int64_t> pipeline_parallel_size, decode_context_parallel_size;
  std::optional<bool> enable_adaptive_verification, use_heterogeneous_vocab, use_local_argmax_reduction,
      parallel_drafting, disable_padded_drafter_batch, disable_eagle_block_drop,
      index_share_for_mtp_iteration;
  std::optional<std::int64_t> dspark_draft_topk;
  std::optional<double> confidence_threshold, synthetic_acceptance_length;
  std::optional<Json> synthetic_acceptance_rates, num_speculative_tokens_per_batch_size;
  std::optional<std::int64_t> prompt_lookup_min, prompt_lookup_max, suffix_decoding_max_tree_depth,
      suffix_decoding_max_cached_requests;
  std::optional<double> suffix_decoding_max_spec_factor, suffix_decoding_min_token_prob;
  std::optional<std::string> revision, code_revision;
  friend bool operator==(const AskedDraft&, const AskedDraft&) = default;
};

// Keys of --eplb-config, and of its "draft".
struct AskedEplb {
  std::optional<std::int64_t> num_redundant_experts, window_size, step_interval;
  std::optional<bool> use_async;
  std::optional<std::string> communicator, policy;
  std::optional<bool> log_balancedness;
  std::optional<std::int64_t> log_balancedness_interval;
  friend bool operator==(const AskedEplb&, const AskedEplb&) = default;
};

// TensorRT-LLM's balancing file. Layers are the model's; the drafter's stages stand behind the target's
// layers.
struct EplbFile {
  std::optional<std::int64_t> num_slots;
  std::optional<std::int64_t> layer_updates_per_iter;
  // Absent: not given. Given and empty is something else, and wrong. Rows in the order of the file.
  std::optional<std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>> assignments;
  bool is_faulty = false;  // some of it was not understood, and told: what is absent says nothing
  friend bool operator==(const EplbFile&, const EplbFile&) = default;
};

// A request that is known before anything runs: its prompt, and the tokens that it may write.
struct KnownRequest {
  std::int64_t prompt_tokens, output_tokens;
  friend bool operator==(const KnownRequest&, const KnownRequest&) = default;
};

struct Intent {
  Engine engine = Engine::Outrider;
  Use use = Use::Plan;
  std::string model;  // as typed
  AskedTarget target;
  std::optional<AskedDraft> draft;
  AskedEplb eplb;
  std::optional<AskedEplb> eplb_draft;  // given: the drafter's experts are balanced too
  std::optional<EplbFile> eplb_file;
  std::optional<std::vector<KnownRequest>>
      requests;                                   // absent: not known, sequences may get as long as allowed
  std::optional<std::string> pp_layer_partition;  // VLLM_PP_LAYER_PARTITION: "20,20,21"
  bool allow_long_max_model_len = false;          // VLLM_ALLOW_LONG_MAX_MODEL_LEN
  bool copies_from_environment = false;           // data_parallel_size is VLLM_DP_SIZE's
  friend bool operator==(const Intent&, const Intent&) = default;
};

}  // namespace outrider::plan

template <>
struct outrider::base::Fields<outrider::plan::AskedTarget> {
  using A = plan::AskedTarget;
  using N = plan::AskNote;
  static constexpr auto kAll = plan::kAllEngines;
  static constexpr auto kTheirs = plan::kOthers;
  static constexpr std::tuple list = {
      field("tensor_parallel_size", &A::tensor_parallel_size,
            N{kAll, "N", "ranks that share each layer (1)", "-tp"}),
      field("pipeline_parallel_size", &A::pipeline_parallel_size, N{kAll, "N", "pipeline stages (1)", "-pp"}),
      field("data_parallel_size", &A::data_parallel_size,
            N{kAll, "N", "copies that take different requests (1)", "-dp"}),
      field("data_parallel_size_local", &A::data_parallel_size_local,
            N{kAll, "N", "copies on this node", "-dpl"}),
      field("prefill_context_parallel_size", &A::prefill_context_parallel_size,
            N{kAll, "N", "ranks that share a prompt (1; more is not in this engine)", "-pcp"}),
      field("decode_context_parallel_size", &A::decode_context_parallel_size,
            N{kAll, "N", "ranks that share a sequence's keys and values (1)", "-dcp"}),
      field("cp_kv_cache_interleave_size", &A::cp_kv_cache_interleave_size,
            N{kAll, "N", "tokens in a row on one rank of a shared sequence (1)"}),
      field("dcp_kv_cache_interleave_size", &A::dcp_kv_cache_interleave_size,
            N{kAll, "N", "old name of the same"}),
      field("dcp_comm_backend", &A::dcp_comm_backend,
            N{kAll, "ag_rs|a2a", "how partial attention is merged (ag_rs)"}),
      field("enable_expert_parallel", &A::enable_expert_parallel,
            N{kAll, "", "whole experts per rank", "-ep"}),
      field("enable_eplb", &A::enable_eplb, N{kAll, "", "balance experts over ranks"}),
      field("enable_elastic_ep", &A::enable_elastic_ep, N{kAll, "", "let expert ranks come and go (vLLM)"}),
      field("expert_placement_strategy", &A::expert_placement_strategy,
            N{kAll, "linear|round_robin", "which rank holds which expert without balancing (linear)"}),
      field("all2all_backend", &A::all2all_backend, N{kTheirs, "NAME", "expert exchange (vLLM)"}),
      field("enable_ep_weight_filter", &A::enable_ep_weight_filter, N{kAll, "", "read the own experts only"}),
      field("enable_dbo", &A::enable_dbo, N{kTheirs, "", "two micro-batches at once (vLLM)"}),
      field("data_parallel_hybrid_lb", &A::data_parallel_hybrid_lb,
            N{kTheirs, "", "balancing per node (vLLM)", "-dph"}),
      field("data_parallel_external_lb", &A::data_parallel_external_lb,
            N{kTheirs, "", "balancing outside (vLLM)", "-dpe"}),
      field("nnodes", &A::nnodes, N{kAll, "N", "machines (1)", "-n"}),
      field("distributed_executor_backend", &A::distributed_executor_backend,
            N{kTheirs, "NAME", "launcher (vLLM)"}),
      field("moe_backend", &A::moe_backend, N{kTheirs, "NAME", "kernel of routed experts (vLLM)"}),
      field("linear_backend", &A::linear_backend, N{kTheirs, "NAME", "kernel of linear layers (vLLM)"}),
      field("attention_backend", &A::attention_backend, N{kTheirs, "NAME", "kernel of attention (vLLM)"}),
      field("kv_cache_dtype", &A::kv_cache_dtype,
            plan::taken_by(plan::kRunning,
                           N{kAll, "TYPE", "element type of keys and values (auto: as the computation)"})),
      field("block_size", &A::block_size,
            plan::taken_by(plan::kRunning, N{kAll, "N", "tokens in a block of the key-value cache (16)"})),
      field("quantization", &A::quantization,
            plan::taken_by(
                plan::kEveryUse,
                N{kAll, "NAME", "weight format, where not as published: weights are quantised while loading",
                  "-q"})),
      field("load_format", &A::load_format,
            plan::taken_by(plan::kEveryUse,
                           N{kAll, "NAME",
                             "how weights are read; dummy: random ones, from a config.json alone (auto)"})),
      field("dtype", &A::dtype,
            plan::taken_by(plan::kRunning, N{kAll, "TYPE", "type of computation (auto: as the weights)"})),
      field("max_model_len", &A::max_model_len,
            plan::taken_by(plan::kGenerating, N{kAll, "N|auto", "longest sequence (the model's positions)"})),
      field("max_num_seqs", &A::max_num_seqs,
            plan::taken_by(plan::kGenerating, N{kAll, "N", "sequences at a time (all requests)"})),
      field("max_num_batched_tokens", &A::max_num_batched_tokens,
            plan::taken_by(plan::kGenerating,
                           N{kAll, "N", "rows of one step; longer prompts run in chunks (2048)"})),
      field("seed", &A::seed,
            plan::taken_by(plan::kGenerating,
                           N{kAll, "N", "of sampling; the same seed gives the same text (0)"})),
      field("num_threads", &A::num_threads,
            plan::taken_by(plan::kEveryUse,
                           N{plan::kOutriderOnly, "N", "threads of a rank (the machine's cores)"})),
      field("num_kv_blocks", &A::num_kv_blocks,
            plan::taken_by(plan::kGenerating, N{plan::kOutriderOnly, "N",
                                                "blocks of the key-value cache (enough for all sequences)"})),
      field("kernel_target", &A::kernel_target,
            plan::taken_by(plan::kEveryUse, N{plan::kOutriderOnly, "NAME",
                                              "reference, avx2 or avx512 (the best that the machine has)"})),
      field(
          "rejection_sample_method", &A::rejection_sample_method,
          plan::taken_by(plan::kGenerating,
                         N{plan::kOutriderOnly, "NAME",
                           "without a drafter: standard, or drafter_invariant, which draws as that "
                           "verification does, so that a seed gives the text that it gives with any drafter "
                           "(standard)"})),
      field("enforce_eager", &A::enforce_eager, N{kTheirs, "", "no captured graphs (vLLM)"}),
      field("enable_prefix_caching", &A::enable_prefix_caching, N{kAll, "", "share equal beginnings"}),
      field("async_scheduling", &A::async_scheduling, N{kTheirs, "", "schedule ahead (vLLM)"}),
      field("hf_overrides", &A::hf_overrides,
            plan::taken_by(plan::kEveryUse, N{kAll, "JSON", "merged into config.json (RFC 7386)"})),
      field("model_loader_extra_config", &A::model_loader_extra_config,
            N{kTheirs, "JSON", "settings of the loader (vLLM)"}),
  };
};

template <>
struct outrider::base::Fields<outrider::plan::AskedDraft> {
  using A = plan::AskedDraft;
  using N = plan::AskNote;
  static constexpr auto kAll = plan::kAllEngines;
  static constexpr auto kTheirs = plan::kOthers;
  static constexpr auto kOurs = plan::kOutriderOnly;
  static constexpr std::tuple list = {
      field("method", &A::method,
            plan::taken_by(plan::kRunning,
                           N{kAll, "NAME", "dspark, dflash, eagle3, mtp, pard, draft_model, ngram, suffix"})),
      field("model", &A::model,
            plan::taken_by(plan::kRunning,
                           N{kAll, "PATH", "the drafter's folder, where it is not in the target's"})),
      field("num_speculative_tokens", &A::num_speculative_tokens,
            plan::taken_by(plan::kRunning,
                           N{kAll, "N", "drafts of a round (as many as the drafter was trained for)"})),
      field("draft_tensor_parallel_size", &A::draft_tensor_parallel_size,
            N{kAll, "N", "ranks that share a draft layer"}),
      field("block_size", &A::block_size,
            plan::taken_by(
                plan::kRunning,
                N{kOurs, "N", "rows of the draft block (as trained, more where the drafts need more)"})),
      field("max_model_len", &A::max_model_len, N{kAll, "N", "longest sequence that is drafted for"}),
      field("draft_sample_method", &A::draft_sample_method,
            plan::taken_by(plan::kRunning, N{kAll, "greedy|probabilistic", "how drafts are chosen"})),
      field("rejection_sample_method", &A::rejection_sample_method,
            plan::taken_by(plan::kRunning, N{kAll, "NAME", "how drafts are verified"})),
      field("quantization", &A::quantization,
            plan::taken_by(plan::kRunning, N{kAll, "NAME", "the drafter's weight format"})),
      field("moe_backend", &A::moe_backend, N{kTheirs, "NAME", "kernel of the drafter's experts"}),
      field("attention_backend", &A::attention_backend,
            N{kTheirs, "NAME", "kernel of the drafter's attention"}),
      field("kv_cache_dtype", &A::kv_cache_dtype,
            plan::taken_by(plan::kRunning, N{kAll, "TYPE", "element type of the drafter's keys and values"})),
      field("draft_load_config", &A::draft_load_config,
            N{kAll, "JSON", "loader of the drafter: {\"load_format\":NAME}"}),
      field("enforce_eager", &A::enforce_eager, N{kTheirs, "BOOL", "no captured graphs"}),
      field("enable_expert_parallel", &A::enable_expert_parallel,
            N{kOurs, "BOOL", "whole draft experts per rank"}),
      field("pipeline_parallel_size", &A::pipeline_parallel_size, N{kOurs, "N", "only 1"}),
      field("decode_context_parallel_size", &A::decode_context_parallel_size,
            N{kOurs, "N", "ranks that share draft context"}),
      field("enable_adaptive_verification", &A::enable_adaptive_verification,
            N{kAll, "BOOL", "verify by confidence"}),
      field("use_heterogeneous_vocab", &A::use_heterogeneous_vocab,
            N{kTheirs, "BOOL", "drafter of another tokenizer"}),
      field("use_local_argmax_reduction", &A::use_local_argmax_reduction,
            N{kTheirs, "BOOL", "argmax per rank"}),
      field("parallel_drafting", &A::parallel_drafting, N{kTheirs, "BOOL", "all drafts in one pass"}),
      field("disable_padded_drafter_batch", &A::disable_padded_drafter_batch,
            N{kTheirs, "BOOL", "ragged drafter batch"}),
      field("disable_eagle_block_drop", &A::disable_eagle_block_drop,
            N{kTheirs, "BOOL", "keep the last cached block"}),
      field("index_share_for_mtp_iteration", &A::index_share_for_mtp_iteration,
            N{kTheirs, "BOOL", "share indexer rows"}),
      field("dspark_draft_topk", &A::dspark_draft_topk, N{kTheirs, "N", "candidates of the Markov head"}),
      field("confidence_threshold", &A::confidence_threshold,
            plan::taken_by(plan::kRunning,
                           N{kOurs, "X", "verify up to the first draft below this confidence (0: all)"})),
      field("synthetic_acceptance_length", &A::synthetic_acceptance_length,
            plan::taken_by(plan::kMeasuring, N{kAll, "X", "forced mean acceptance"})),
      field("synthetic_acceptance_rates", &A::synthetic_acceptance_rates,
            plan::taken_by(plan::kMeasuring, N{kAll, "[X]", "forced acceptance per position"})),
      field("num_speculative_tokens_per_batch_size", &A::num_speculative_tokens_per_batch_size,
            N{kTheirs, "[[LO,HI,K]]", "fewer drafts for larger batches"}),
      field("prompt_lookup_min", &A::prompt_lookup_min,
            plan::taken_by(plan::kRunning, N{kAll, "N", "ngram: tokens of the shortest match (1)"})),
      field("prompt_lookup_max", &A::prompt_lookup_max,
            plan::taken_by(plan::kRunning,
                           N{kAll, "N", "ngram: tokens of the longest match, tried first (5)"})),
      field("suffix_decoding_max_tree_depth", &A::suffix_decoding_max_tree_depth,
            N{kAll, "N", "depth of suffix trees"}),
      field("suffix_decoding_max_cached_requests", &A::suffix_decoding_max_cached_requests,
            N{kAll, "N", "requests kept"}),
      field("suffix_decoding_max_spec_factor", &A::suffix_decoding_max_spec_factor,
            N{kAll, "X", "drafts per matched token"}),
      field("suffix_decoding_min_token_prob", &A::suffix_decoding_min_token_prob,
            N{kAll, "X", "least share of a branch"}),
      field("revision", &A::revision, N{kTheirs, "NAME", "revision of the drafter"}),
      field("code_revision", &A::code_revision, N{kTheirs, "NAME", "revision of its code"}),
  };
};

template <>
struct outrider::base::Fields<outrider::plan::AskedEplb> {
  using A = plan::AskedEplb;
  using N = plan::AskNote;
  static constexpr auto kAll = plan::kAllEngines;
  static constexpr std::tuple list = {
      field("num_redundant_experts", &A::num_redundant_experts,
            N{kAll, "N", "copies beyond one of each expert (0)"}),
      field("window_size", &A::window_size, N{kAll, "N", "steps whose loads count (1000)"}),
      field("step_interval", &A::step_interval, N{kAll, "N", "steps between placements (3000)"}),
      field("use_async", &A::use_async, N{kAll, "BOOL", "move experts beside the steps (true)"}),
      field("communicator", &A::communicator, N{kAll, "NAME", "transport of moving experts"}),
      field("policy", &A::policy, N{kAll, "NAME", "placement policy (default)"}),
      field("log_balancedness", &A::log_balancedness, N{kAll, "BOOL", "report the balance"}),
      field("log_balancedness_interval", &A::log_balancedness_interval,
            N{kAll, "N", "steps between reports (1)"}),
  };
};

OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::AskedTarget);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::AskedDraft);
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::AskedEplb);
