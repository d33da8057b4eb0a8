#include "checkpoint/drafter_match.h"

#include <algorithm>

#include "checkpoint/safetensors.h"

namespace outrider::checkpoint {

void check_drafter_match(const DrafterShape& drafter, const ModelShape& target, const std::string& source,
                         base::Inspector& inspector) {
  constexpr char kRemedy[] =
      "the drafter was made for another target: give the one that belongs to this model";
  const auto same = [&](const char* what, std::int64_t drafters, std::int64_t targets) {
    inspector.require(drafters == targets,
                      {.field = source + ": " + what,
                       .found = std::to_string(drafters),
                       .rule = "must be the target's, which is " + std::to_string(targets),
                       .remedy = kRemedy});
  };
  const auto layer_count = static_cast<std::int64_t>(target.layers.size());
  same("hidden_size", drafter.backbone.hidden_width, target.hidden_width);
  same("vocab_size", drafter.backbone.vocabulary, target.vocabulary);
  if (drafter.target_layers) same("layers of its target", *drafter.target_layers, layer_count);
  const bool taps_exist = std::all_of(drafter.taps.begin(), drafter.taps.end(),
                                      [&](int tap) { return tap >= -1 && tap < layer_count; });
  inspector.require(taps_exist,
                    {.field = source + ": tapped layers",
                     .found = shape_text(std::vector<std::int64_t>(drafter.taps.begin(), drafter.taps.end())),
                     .rule = "must be layers of the target, which has " + std::to_string(layer_count) +
                             " (-1: its embedding)",
                     .remedy = kRemedy});
  inspector.require(drafter.mask_token >= 0 && drafter.mask_token < target.vocabulary,
                    {.field = source + ": mask token",
                     .found = std::to_string(drafter.mask_token),
                     .rule = "must be below the target's vocabulary, " + std::to_string(target.vocabulary),
                     .remedy = kRemedy});
}

}  // namespace outrider::checkpoint
