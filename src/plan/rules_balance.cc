#include "plan/rules_balance.h"

#include <algorithm>

#include "plan/derive.h"

namespace outrider::plan {
namespace {

constexpr const char* kRedundant = "eplb_config.num_redundant_experts";

std::string nearest_text(std::int64_t experts, std::int64_t redundant, std::int64_t ranks) {
  const NearestRedundant nearest = nearest_redundant(experts, std::max<std::int64_t>(redundant, 0), ranks);
  return nearest.below >= 0 ? text(nearest.below) + " or " + text(nearest.above) : text(nearest.above);
}

}  // namespace

void check_d5(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || !role.settings.enable_eplb) return;
    const std::int64_t ranks = shape_of(role.settings).expert_ranks(), experts = role.moe->experts;
    const std::int64_t redundant = role.settings.num_redundant_experts;
    if (ranks < 1 || !sane(role.settings.tensor_parallel_size) || !sane(role.settings.data_parallel_size))
      return;
    if (q.intent.eplb_file && q.intent.eplb_file->num_slots) {
      const std::int64_t slots = *q.intent.eplb_file->num_slots;
      constexpr std::int64_t kSlotsMax = std::int64_t{1} << 17;                     // D17 tells of more
      if (role.name == "draft" || slots > kSlotsMax || slots % ranks == 0) return;  // told once for both
      out.refuse(
          "eplb.num_slots", text(slots),
          role.says("num_slots=" + text(slots) + " not divisible by ep=" + text(ranks)),
          "nearest valid: " + text(slots / ranks * ranks) + " or " + text((slots / ranks + 1) * ranks));
      return;
    }
    if (redundant < 0 || redundant > (std::int64_t{1} << 30) || (experts + redundant) % ranks == 0) return;
    out.refuse(
        role.field(kRedundant), text(redundant),
        role.says(text(experts) + "+" + text(redundant) + " experts not divisible by ep=" + text(ranks) +
                  "; nearest valid redundant counts: " + nearest_text(experts, redundant, ranks)),
        "set num_redundant_experts to " + nearest_text(experts, redundant, ranks));
  });
}

void check_d13(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    const auto& communicator = role.settings.communicator;
    if (!communicator || !role.settings.use_async ||
        (*communicator != "torch_nccl" && *communicator != "pynccl"))
      return;
    if (role.name == "draft" && q.target.communicator == communicator && q.target.use_async)
      return;  // the target's fault
    out.refuse(role.field("eplb_config.communicator"), *communicator,
               role.says("communicator " + *communicator +
                         " is incompatible with async EPLB: NCCL on two streams can deadlock"),
               "use torch_gloo or nixl, leave it out, or set use_async=false");
  });
}

void check_d20(const Question& q, Reporter& out) {
  for_roles(q, [&](const RoleCase& role) {
    if (role.moe == nullptr || !role.settings.enable_eplb || q.intent.eplb_file) return;
    const auto layers = static_cast<std::int64_t>(
        role.name == "draft" ? q.view->layer_count : static_cast<std::int64_t>(role.moe->layers.size()));
    const std::int64_t interval = role.settings.step_interval, window = role.settings.window_size;
    if (interval < 1 || window < 1) return;
    if (role.settings.use_async && interval < layers) {
      out.refuse(role.field("eplb_config.step_interval"), text(interval),
                 role.says("step_interval=" + text(interval) + " < " + text(layers) +
                           " MoE layers: an asynchronous cycle, one layer a step, cannot finish"),
                 "raise step_interval, or set use_async=false");
    } else if (window > interval) {
      out.warn(role.field("eplb_config.window_size"), Json(window),
               role.says("window_size=" + text(window) + " is longer than step_interval=" + text(interval) +
                         ": loads count in several placements"));
    }
  });
}

}  // namespace outrider::plan
