// G: kernels, formats and cache types per role; X8.
#include <algorithm>
#include <array>

#include "plan/derive.h"
#include "plan/rules.h"
#include "plan/rules_engines.h"

namespace outrider::plan {
namespace {

// Formats that are made before weights are loaded, and never while.
bool is_stored_only(std::string_view format) {
  constexpr std::array<std::string_view, 9> kStored = {"awq",         "awq_marlin", "gptq",
                                                       "gptq_marlin", "auto-round", "compressed-tensors",
                                                       "quark",       "modelopt",   "modelopt_fp4"};
  return std::find(kStored.begin(), kStored.end(), format) != kStored.end();
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
  if (q.intent.target.quantization && !model && is_stored_only(*q.intent.target.quantization))
    out.refuse_plainly("target.quantization", *q.intent.target.quantization,
                       "target: quantization=" + *q.intent.target.quantization +
                           " is how a checkpoint is stored, and this one is not quantised",
                       "leave it out, or name a checkpoint in that format");
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
  if (!q.target.kv_cache_dtype.starts_with("nvfp4") || q.target.kv_cache_dtype == "nvfp4_ds_mla" ||
      q.model().attention.find("mla") == std::string::npos)
    return;
  out.refuse("target.kv_cache_dtype", q.target.kv_cache_dtype,
             "target: nvfp4 KV cache is not supported with MLA", "use fp8 or auto");
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
     .verdict = Verdict::Refuse,
     .condition = "an attention kernel for another kind of attention",
     .reason = "Not given, a drafter gets the target's, if both have the same kind of attention and head "
               "size; else "
               "auto (vllm#52288). Asked for, it must read what the role keeps.",
     .vllm = "Selected backend is not valid for this configuration",
     .check = check_g4},
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
};

}  // namespace

std::span<const Rule> kernel_rules() { return kRules; }

}  // namespace outrider::plan
