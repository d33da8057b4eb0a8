// What the rules look at: what was asked, the shapes, and the settings that were derived, for both roles.
// Internal to the module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/splits.h"

namespace outrider::plan {

// A drafter's shape, wherever its tensors are.
struct DraftView {
  const checkpoint::DrafterFacts* drafter;
  const checkpoint::ModelFacts*
      model;  // heads, vocabulary, positions: its own file's, or the target's it is inside of
  const checkpoint::MoeFacts* moe;  // null: dense
  const std::vector<checkpoint::KvGroup>* kv;
  bool inside_target;     // its tensors are in the target's checkpoint
  bool native_elsewhere;  // the drafter's path is another target's checkpoint with the drafter inside
  std::int64_t layer_count;
};

// The drafting method in one spelling: "dspark", "eagle3", ...; aliases are resolved. Empty: not given and
// not to be found.
struct MethodChoice {
  std::string name;
  std::optional<checkpoint::DraftMethod> kind;  // absent: no weights (ngram, suffix), or not known
  bool without_model = false;                   // ngram, suffix: drafts come from the text itself
  bool known = true;
};

struct Question {
  const Intent& intent;
  const ModelsFacts& facts;
  const Machine& machine;
  Engine engine;
  MethodChoice method;  // where a drafter was asked for
  std::optional<DraftView> view;
  RoleSettings target;
  std::optional<RoleSettings> draft;  // with a view only
  std::optional<DraftSettings> drafting;
  std::vector<Derivation> derivations;

  const checkpoint::ModelFacts& model() const { return facts.target.model; }
  bool wants_draft() const { return intent.draft.has_value(); }
  bool is(Engine which) const { return engine == which; }
};

// Sizes as rules multiply them: at least 1, and so small that the product of four fits.
inline constexpr std::int64_t kSizeMax = std::int64_t{1} << 15;
constexpr std::int64_t size_of(std::int64_t asked) {
  return asked < 1 ? 1 : asked > kSizeMax ? kSizeMax : asked;
}
constexpr bool sane(std::int64_t asked) { return asked >= 1 && asked <= kSizeMax; }
ParallelShape shape_of(const RoleSettings& settings);
std::int64_t expert_ranks_of(const RoleSettings& settings);  // 1 where expert parallelism is off

}  // namespace outrider::plan
