#include "checkpoint/hf_config.h"

#include <algorithm>

#include "checkpoint/config_reader.h"
#include "checkpoint/drafter_reader.h"
#include "checkpoint/drafter_tensors.h"
#include "checkpoint/families.h"

namespace outrider::checkpoint {
namespace {

bool is_float(tensor::Dtype dtype) {
  return dtype == tensor::Dtype::BF16 || dtype == tensor::Dtype::F16 || dtype == tensor::Dtype::F32;
}

// Groups of experts become one tensor each, or one for all where files fuse them.
std::vector<TensorSpec> expand(const std::vector<TensorGroup>& groups) {
  std::vector<TensorSpec> specs;
  const auto add = [&](const TensorGroup& group, std::string name, std::vector<std::int64_t> shape) {
    specs.push_back({.name = std::move(name),
                     .shape = std::move(shape),
                     .dtype = is_float(group.dtype) ? std::nullopt : std::optional(group.dtype),
                     .optional = group.optional});
  };
  for (const TensorGroup& group : groups) {
    const std::size_t hole = group.name.find("{}");
    if (group.fused) {
      std::vector<std::int64_t> shape = group.shape;
      shape.insert(shape.begin(), group.count);
      add(group, group.name, std::move(shape));
    } else if (hole == std::string::npos) {
      add(group, group.name, group.shape);
    } else {
      for (std::int64_t i = 0; i < group.count; ++i) {
        add(group, std::string(group.name).replace(hole, 2, std::to_string(i)), group.shape);
      }
    }
  }
  return specs;
}

}  // namespace

base::Result<ModelShape> parse_model_shape(const base::Json& config, const std::string& source) {
  base::Inspector inspector;
  const ConfigReader outer(config, source + ": ", inspector);
  if (config.object() == nullptr) {
    return base::refuse(
        {.field = source, .found = config.excerpt(), .rule = "must be a JSON object", .remedy = ""});
  }
  const Family* family = identify_family(outer, true);
  if (family == nullptr) return std::move(inspector).refuse();
  const ConfigReader text = text_settings(outer);
  ModelShape shape = family->read(text, outer);
  if (shape.quantisation) {
    outer.report("quantization_config", "quantised weights of this family are not read yet",
                 "use the bfloat16 files of the model");
  }
  if (const auto* yarn = std::get_if<YarnRope>(&shape.rope.scaling); yarn != nullptr && !yarn->rounded) {
    text.report("rope_scaling", "truncate must be true in this family");
  }
  text.require(shape.rope.rotated_share == 1, "rope_parameters",
               "partial_rotary_factor must be 1 in this family");
  if (!inspector.clean()) return std::move(inspector).refuse();
  return shape;
}

base::Result<DrafterShape> parse_drafter_shape(const base::Json& config, const std::string& source,
                                               const std::vector<std::string>& tensor_names,
                                               int target_layer_count) {
  base::Inspector inspector;
  const ConfigReader outer(config, source + ": ", inspector);
  const std::optional<DrafterFormat> format = identify_block_drafter(config);
  if (!format) {
    return base::refuse(
        {.field = source,
         .found = "",
         .rule = "is no config of a DSpark or DFlash drafter: it has neither markov_rank, nor "
                 "target_layer_ids with block_size, nor dflash_config, nor speculators_model_type "
                 "\"dspark\" or \"dflash\"",
         .remedy = "give the drafter's folder, or another method"});
  }
  DrafterShape shape = read_block_drafter(
      outer, *format, {.tensor_names = &tensor_names, .target_layer_count = target_layer_count});
  if (!inspector.clean()) return std::move(inspector).refuse();
  return shape;
}

bool is_drafter_config(const base::Json& config) {
  for (const std::string_view key : {"draft_vocab_size", "eagle_config", "pard_token"}) {
    const base::Json* value = config.find(key);
    if (value != nullptr && !value->is_null()) return true;
  }
  return identify_block_drafter(config).has_value() || config.find("speculators_model_type") != nullptr;
}

std::vector<TensorSpec> expected_tensors(const ModelShape& shape) { return expand(list_tensors(shape)); }

std::vector<TensorSpec> expected_tensors(const DrafterShape& shape) {
  TensorLister lister(shape.backbone.weight_dtype);
  list_drafter_tensors(shape, lister);
  return expand(std::move(lister).take());
}

}  // namespace outrider::checkpoint
