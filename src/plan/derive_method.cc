#include <algorithm>
#include <array>

#include "plan/derive.h"

namespace outrider::plan {
namespace {

using checkpoint::DraftMethod;

struct MethodRow {
  std::string_view name;
  std::optional<DraftMethod> kind;
  bool without_model = false;
};
constexpr std::array kMethods = {
    MethodRow{"dspark", DraftMethod::DSpark},
    MethodRow{"dflash", DraftMethod::DFlash},
    MethodRow{"eagle3", DraftMethod::Eagle3},
    MethodRow{"eagle", DraftMethod::Eagle3},
    MethodRow{"mtp", DraftMethod::Mtp},
    MethodRow{"pard", DraftMethod::Pard},
    MethodRow{"draft_model", DraftMethod::DraftModel},
    MethodRow{"ngram", std::nullopt, true},
    MethodRow{"ngram_gpu", std::nullopt, true},
    MethodRow{"suffix", std::nullopt, true},
};

}  // namespace

MethodChoice derive_method(const Intent& intent, const ModelsFacts& facts) {
  if (!intent.draft) return {};
  if (!intent.draft->method) {  // found from the drafter's own file
    if (!intent.draft->model || !facts.draft || !facts.draft->drafter) return {};
    const DraftMethod kind = facts.draft->drafter->method;
    return {.name = std::string(checkpoint::name_of(kind)), .kind = kind};
  }
  std::string name = *intent.draft->method;
  if (name.ends_with("_mtp")) name = "mtp";  // vLLM's many old names of one method
  for (const MethodRow& row : kMethods) {
    if (row.name == name) return {.name = name, .kind = row.kind, .without_model = row.without_model};
  }
  return {.name = name, .kind = std::nullopt, .without_model = false, .known = false};
}

std::optional<DraftView> derive_view(const Intent& intent, const ModelsFacts& facts,
                                     const MethodChoice& method) {
  if (!intent.draft || !method.kind) return std::nullopt;
  const bool own_path = intent.draft->model && !facts.draft_is_target;
  const checkpoint::Facts* source = own_path ? (facts.draft ? &*facts.draft : nullptr) : &facts.target;
  if (source == nullptr || !source->drafter) return std::nullopt;
  const checkpoint::DrafterFacts& drafter = *source->drafter;
  const bool native = drafter.inside_target;
  if (!own_path && drafter.method != *method.kind) return std::nullopt;
  return DraftView{.drafter = &drafter,
                   .model = &source->model,
                   .moe = native ? (drafter.moe ? &*drafter.moe : nullptr)
                                 : (source->model.moe ? &*source->model.moe : nullptr),
                   .kv = native ? &drafter.kv : &source->model.kv,
                   .inside_target = native && !own_path,
                   .native_elsewhere = native && own_path,
                   .layer_count = native ? drafter.stages : source->model.layer_count};
}

}  // namespace outrider::plan
