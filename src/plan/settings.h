// RoleSettings: the settings of one role, target or drafter, all decided. A drafter's are made from its
// target's by copy and override (derive.h); each field says with which policy, and there is no way to list
// one without. Values are plain: nothing here is shared by the roles, and nothing is written after the plan
// is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace outrider::plan {

// What becomes of a field of the target's in its drafter.
enum class Policy {
  Inherit,   // the target's value, always
  Override,  // the target's value, unless a rule says otherwise
  Own,       // the drafter's own value: its file's, the user's, or a default
};

struct RoleSettings {
  std::string model;
  std::int64_t tensor_parallel_size = 1, pipeline_parallel_size = 1, data_parallel_size = 1,
               data_parallel_size_local = 1, prefill_context_parallel_size = 1,
               decode_context_parallel_size = 1, cp_kv_cache_interleave_size = 1;
  std::string dcp_comm_backend = "ag_rs";
  bool enable_expert_parallel = false;
  // The four that must change together: without_eplb().
  bool enable_eplb = false;
  std::int64_t num_redundant_experts = 0;
  bool enable_elastic_ep = false;
  std::string expert_placement_strategy = "linear";
  std::int64_t window_size = 1000, step_interval = 3000;
  bool use_async = true;
  std::optional<std::string> communicator;
  std::string policy = "default";
  bool log_balancedness = false;
  std::int64_t log_balancedness_interval = 1;
  bool enable_ep_weight_filter = false;
  std::string all2all_backend = "allgather_reducescatter";
  bool enable_dbo = false;
  std::string distributed_executor_backend = "auto";
  std::string moe_backend = "auto", linear_backend = "auto", attention_backend = "auto",
              kv_cache_dtype = "auto";
  std::int64_t kv_block_size = 16;  // tokens
  std::optional<std::string> quantization;
  std::string load_format = "auto";
  std::string dtype = "auto";
  std::optional<std::int64_t> max_model_len;  // absent where neither the user nor the config says
  std::optional<std::int64_t> max_num_seqs, max_num_batched_tokens;
  bool enforce_eager = false, enable_prefix_caching = true, async_scheduling = false;
  std::int64_t seed = 0;
  // What our own engine decides beyond vLLM's words (derive_run.cc); absent under the rules of others, and
  // what depends on a machine where none is known.
  std::optional<std::string> compute_dtype, kv_store_dtype;  // "float32", "bfloat16": no "auto" is left
  std::optional<std::int64_t> num_kv_blocks;                 // of kv_block_size tokens
  std::optional<std::int64_t> num_threads;
  std::optional<std::string> kernel_target;
  std::optional<std::string> draw_method;  // how tokens are drawn: a rejection_sample_method, drafter or not
  friend bool operator==(const RoleSettings&, const RoleSettings&) = default;
};

// The two edits of several fields at once. No value in between exists.
inline RoleSettings without_eplb(RoleSettings settings) {
  settings.enable_eplb = settings.enable_elastic_ep = false;
  settings.num_redundant_experts = 0;
  return settings;
}
inline RoleSettings without_context_shards(RoleSettings settings) {
  settings.decode_context_parallel_size = settings.prefill_context_parallel_size =
      settings.cp_kv_cache_interleave_size = 1;
  settings.dcp_comm_backend = "ag_rs";
  return settings;
}

struct SettingNote {
  std::string_view printed;  // the field's name in the plan: vLLM's
  Policy policy;
};
// Entries of the list. Without a policy there is no call that fits.
template <class Member>
constexpr auto setting(std::string_view name, Member RoleSettings::*member, Policy policy) {
  return base::field(name, member, SettingNote{name, policy});
}
template <class Member>
constexpr auto setting(std::string_view name, Member RoleSettings::*member, Policy policy,
                       std::string_view printed) {
  return base::field(name, member, SettingNote{printed, policy});
}

}  // namespace outrider::plan

template <>
struct outrider::base::Fields<outrider::plan::RoleSettings> {
  using S = plan::RoleSettings;
  static constexpr auto kInherit = plan::Policy::Inherit;
  static constexpr auto kOverride = plan::Policy::Override;
  static constexpr auto kOwn = plan::Policy::Own;
  static constexpr std::tuple list = {
      plan::setting("model", &S::model, kOwn),
      plan::setting("tensor_parallel_size", &S::tensor_parallel_size, kOverride),
      plan::setting("pipeline_parallel_size", &S::pipeline_parallel_size, kOverride),
      plan::setting("data_parallel_size", &S::data_parallel_size, kInherit),
      plan::setting("data_parallel_size_local", &S::data_parallel_size_local, kInherit),
      plan::setting("prefill_context_parallel_size", &S::prefill_context_parallel_size, kOverride),
      plan::setting("decode_context_parallel_size", &S::decode_context_parallel_size, kOverride),
      plan::setting("cp_kv_cache_interleave_size", &S::cp_kv_cache_interleave_size, kOverride),
      plan::setting("dcp_comm_backend", &S::dcp_comm_backend, kOverride),
      plan::setting("enable_expert_parallel", &S::enable_expert_parallel, kOverride),
      plan::setting("enable_eplb", &S::enable_eplb, kOverride),
      plan::setting("num_redundant_experts", &S::num_redundant_experts, kOverride,
                    "eplb_config.num_redundant_experts"),
      plan::setting("enable_elastic_ep", &S::enable_elastic_ep, kOverride),
      plan::setting("expert_placement_strategy", &S::expert_placement_strategy, kOverride),
      plan::setting("window_size", &S::window_size, kOverride, "eplb_config.window_size"),
      plan::setting("step_interval", &S::step_interval, kOverride, "eplb_config.step_interval"),
      plan::setting("use_async", &S::use_async, kOverride, "eplb_config.use_async"),
      plan::setting("communicator", &S::communicator, kOverride, "eplb_config.communicator"),
      plan::setting("policy", &S::policy, kOverride, "eplb_config.policy"),
      plan::setting("log_balancedness", &S::log_balancedness, kOverride, "eplb_config.log_balancedness"),
      plan::setting("log_balancedness_interval", &S::log_balancedness_interval, kOverride,
                    "eplb_config.log_balancedness_interval"),
      plan::setting("enable_ep_weight_filter", &S::enable_ep_weight_filter, kOverride),
      plan::setting("all2all_backend", &S::all2all_backend, kInherit),
      plan::setting("enable_dbo", &S::enable_dbo, kOverride),
      plan::setting("distributed_executor_backend", &S::distributed_executor_backend, kInherit),
      plan::setting("moe_backend", &S::moe_backend, kOverride),
      plan::setting("linear_backend", &S::linear_backend, kOverride),
      plan::setting("attention_backend", &S::attention_backend, kOverride),
      plan::setting("kv_cache_dtype", &S::kv_cache_dtype, kOverride),
      plan::setting("kv_block_size", &S::kv_block_size, kInherit),
      plan::setting("quantization", &S::quantization, kOwn),
      plan::setting("load_format", &S::load_format, kOverride),
      plan::setting("dtype", &S::dtype, kInherit),
      plan::setting("max_model_len", &S::max_model_len, kOverride),
      plan::setting("max_num_seqs", &S::max_num_seqs, kInherit),
      plan::setting("max_num_batched_tokens", &S::max_num_batched_tokens, kInherit),
      plan::setting("enforce_eager", &S::enforce_eager, kOverride),
      plan::setting("enable_prefix_caching", &S::enable_prefix_caching, kInherit),
      plan::setting("async_scheduling", &S::async_scheduling, kInherit),
      plan::setting("seed", &S::seed, kInherit),
      plan::setting("compute_dtype", &S::compute_dtype, kInherit),
      plan::setting("kv_store_dtype", &S::kv_store_dtype, kOverride),
      plan::setting("num_kv_blocks", &S::num_kv_blocks, kOverride),
      plan::setting("num_threads", &S::num_threads, kInherit),
      plan::setting("kernel_target", &S::kernel_target, kInherit),
      plan::setting("draw_method", &S::draw_method, kInherit),
  };
};
OUTRIDER_LISTS_EVERY_FIELD(outrider::plan::RoleSettings);
