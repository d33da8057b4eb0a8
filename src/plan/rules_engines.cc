#include "plan/rules_engines.h"

#include <algorithm>
#include <array>

#include "plan/derive.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

template <std::size_t N>
bool is_in(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// vLLM's decoders that pass taps on from stage to stage (class attribute supports_aux_hidden_states_over_pp),
// and those that are known not to; of the others nobody said.
constexpr std::array<std::string_view, 6> kRelays = {"llama",       "qwen2",   "qwen3",
                                                     "deepseek_v4", "kimi_k3", "minimax_m3"};
constexpr std::array<std::string_view, 11> kRelaysNot = {
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "deepseek_v41",
    "mimo",        "mimo_v2",     "qwen3_next",   "qwen3_5", "qwen3_5_moe"};

bool needs_taps(const Question& q) {
  return q.method.kind == DraftMethod::Eagle3 || q.method.kind == DraftMethod::DFlash ||
         q.method.kind == DraftMethod::DSpark;
}

// Attention kernels of vLLM's that read latent rows; the others read keys and values per head.
bool is_latent_kernel(std::string_view backend) { return backend.find("MLA") != std::string_view::npos; }
constexpr std::array<std::string_view, 9> kReturnLse = {
    "FLASH_ATTN",     "FLASHINFER",     "CUTLASS_MLA",
    "FLASH_ATTN_MLA", "FLASHINFER_MLA", "FLASHINFER_MLA_SPARSE",
    "FLASHMLA",       "TOKENSPEED_MLA", "TRITON_MLA"};
constexpr std::array<std::string_view, 3> kJudgedByNobody = {"auto", "CUSTOM", "NO_ATTENTION"};

// vLLM's classes of quantised experts without a way to move them.
bool cannot_move(const RoleCase& role) {
  constexpr std::array<std::string_view, 9> kFixed = {
      "awq", "auto_awq", "awq_marlin", "gptq", "auto_gptq", "gptq_marlin", "moe_wna16", "humming", "inc"};
  if (!role.settings.quantization) return false;
  const std::string& method = *role.settings.quantization;
  const bool gpt_oss = role.model.model_type == "gpt_oss" && (method == "mxfp4" || method == "gpt_oss_mxfp4");
  return gpt_oss || is_in(method, kFixed);
}

}  // namespace

void check_c6(const Question& q, Reporter& out) {
  const std::int64_t interleave = q.target.cp_kv_cache_interleave_size;
  const bool shared = q.target.decode_context_parallel_size > 1 || q.target.prefill_context_parallel_size > 1;
  if (!q.is(Engine::Vllm) || !q.wants_draft() || !shared || interleave <= 1) return;
  out.refuse("target.cp_kv_cache_interleave_size", text(interleave),
             "target+draft: verification with cp_kv_cache_interleave_size=" + text(interleave) +
                 " > 1: no attention kernel of vLLM's takes a length per query there",
             "set it to 1, or draft nothing");
}

void check_lse(const Question& q, Reporter& out) {
  const std::string& backend = q.target.attention_backend;
  if (!q.is(Engine::Vllm) || q.target.decode_context_parallel_size <= 1) return;
  if (is_in(backend, kJudgedByNobody) || is_in(backend, kReturnLse)) return;
  out.refuse("target.attention_backend", backend,
             "target: dcp=" + text(q.target.decode_context_parallel_size) +
                 " needs a kernel that returns the "
                 "log-sum-exp in decode, and " +
                 backend + " does not",
             "leave attention_backend out, or use no context shards");
}

void check_d11(const Question& q, Reporter& out) {
  if (!q.is(Engine::Vllm)) return;
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || !role.settings.enable_eplb || !cannot_move(role)) return;
    out.refuse(role.field("enable_eplb"), "true",
               role.says("EPLB is not supported for experts in format " + *role.settings.quantization),
               "leave --enable-eplb out, or use weights in fp8, nvfp4 or bfloat16");
  });
}

void check_d8_trtllm(const Question& q, Reporter& out) {
  if (!q.is(Engine::Trtllm) || !q.target.enable_eplb || !q.view || q.view->moe == nullptr) return;
  const bool in_target = q.view->inside_target || q.view->native_elsewhere;
  const bool registers =
      in_target && (q.method.kind == DraftMethod::DSpark || q.method.kind == DraftMethod::Mtp);
  if (registers) return;
  out.refuse("draft.enable_eplb", "true",
             "draft: the balancing config is not forwarded to a drafter of method " + q.method.name +
                 " with a file of its own, and its experts are built while the balancer is on",
             "leave --enable-eplb out, or draft with DSpark or MTP of the target's checkpoint");
}

void check_d10_trtllm(const Question& q, Reporter& out) {
  if (!q.is(Engine::Trtllm) || !q.target.enable_eplb || !q.model().moe) return;
  const std::string& type = q.model().model_type;
  if (type != "kimi_k3" && !type.starts_with("gemma")) return;
  out.refuse(
      "target.enable_eplb", "true",
      "target: balancing has no effect on " + type + ": its class is not on the list of those that balance",
      "leave --enable-eplb out");
}

void check_e1(const Question& q, Reporter& out) {
  const std::int64_t stages = q.target.pipeline_parallel_size;
  if (!sane(stages) || stages == 1 || !q.wants_draft()) return;
  if (q.is(Engine::Trtllm)) {
    out.refuse("target.pipeline_parallel_size", text(stages),
               "target+draft: drafting does not go with pipeline parallelism (pipeline_parallel_size=" +
                   text(stages) + ")",
               "use one stage");
    return;
  }
  if (!q.is(Engine::Vllm) || !needs_taps(q)) return;
  const std::string& type = q.model().model_type;
  const std::string name = type.empty() ? "the target's class" : type;
  if (is_in(type, kRelaysNot)) {
    out.refuse("target.pipeline_parallel_size", text(stages),
               "target+draft: " + q.method.name + " with pipeline parallel (pipeline_parallel_size=" +
                   text(stages) + "): " + name + " does not forward auxiliary hidden states",
               "use one stage");
  } else if (!is_in(type, kRelays)) {
    out.warn("target.pipeline_parallel_size", Json(stages),
             "target+draft: vLLM refuses " + q.method.name +
                 " over stages unless the target's class forwards "
                 "auxiliary hidden states; whether that of " +
                 name + " does is not known here (vllm#50514)");
  }
}

void check_g4(const Question& q, Reporter& out) {
  if (!q.is(Engine::Vllm)) return;
  for_roles(q, [&](const RoleCase& role) {
    const std::string& backend = role.settings.attention_backend;
    const bool drafter = role.name == "draft";
    if (is_in(backend, kJudgedByNobody) || role.kv.empty()) return;
    if (drafter && !q.intent.draft->attention_backend) return;  // inherited only where it fits
    const bool latent = keeps_latent_rows(role.kv);
    if (latent == is_latent_kernel(backend)) return;
    out.refuse(role.field("attention_backend"), backend,
               role.says("attention_backend=" + backend +
                         (latent ? " reads keys and values per head, and the model "
                                   "keeps latent rows (MLA)"
                                 : " reads latent rows (MLA), and the model keeps "
                                   "keys and values per head")),
               latent ? "use an MLA kernel, or auto" : "use FLASH_ATTN, FLASHINFER or TRITON_ATTN, or auto");
  });
}

}  // namespace outrider::plan
