// Shapes -> facts. Nothing here can fail; faults were found by the readers.
#pragma once

#include <vector>

#include "checkpoint/config_reader.h"
#include "checkpoint/facts.h"
#include "checkpoint/model_shape.h"

namespace outrider::checkpoint {

ModelFacts derive_model_facts(const ModelShape& shape, const ConfigReader& text, const ConfigReader& outer);
// Key-value rows of layers that are numbered from `first`.
std::vector<KvGroup> derive_kv_groups(const std::vector<LayerShape>& layers, int first);
std::optional<MoeFacts> derive_moe_facts(const std::vector<LayerShape>& layers, int first);
// The drafter inside a target's checkpoint.
std::optional<DrafterFacts> derive_inside_drafter(const ModelShape& shape);

// Reads a drafter's own config; nothing where it is an ordinary model's.
std::optional<Facts> read_drafter_facts(const ConfigReader& outer, const FactsOptions& options);
// The widths that tensor parallelism divides.
std::vector<CutWidth> derive_cut_widths(const ModelShape& shape);

}  // namespace outrider::checkpoint
