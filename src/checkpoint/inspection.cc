#include "checkpoint/inspection.h"

#include <algorithm>
#include <utility>

#include "base/inspector.h"
#include "base/strings.h"
#include "checkpoint/config_reader.h"
#include "checkpoint/families.h"
#include "checkpoint/folder.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/open_model.h"

namespace outrider::checkpoint {
namespace {

bool is_float(tensor::Dtype dtype) {
  switch (dtype) {
    case tensor::Dtype::F8E4M3:
    case tensor::Dtype::F8E5M2:
    case tensor::Dtype::F4:
    case tensor::Dtype::F6E2M3:
    case tensor::Dtype::F6E3M2:
    case tensor::Dtype::F16:
    case tensor::Dtype::BF16:
    case tensor::Dtype::F32:
    case tensor::Dtype::F64:
      return true;
    default:
      return false;  // integers may be packed weights or tables, F8_E8M0 are scales
  }
}

template <class T>
std::optional<T> keep(base::Result<T> result, std::vector<base::Problem>& problems) {
  if (result.ok()) return std::move(*result);
  for (base::Problem& problem : std::move(result).error().problems) problems.push_back(std::move(problem));
  return std::nullopt;
}

void count_formats(Inspection& found) {
  std::int64_t packed = 0;
  for (const auto& [name, entry] : found.checkpoint->tensors()) {
    FormatCount& count = found.formats[entry.view.dtype];
    const std::int64_t elements = entry.view.element_count();
    count.tensors += 1;
    count.elements += elements;
    count.bytes += entry.stored_bytes();
    const bool is_weight = is_float(entry.view.dtype) || entry.packed_bytes.has_value();
    if (is_weight) found.parameters += elements;
    if (!is_weight && entry.view.shape.size() >= 2) packed += 1;
  }
  if (packed > 0) {
    found.unknown.push_back(
        std::to_string(packed) +
        " matrices of integers may be packed weights: they are not counted as parameters");
  }
}

// Of each layer's experts a token meets a few, and of an embedding that is not also the head one row.
void count_active(Inspection& found) {
  bool mixture = false;
  std::int64_t idle = 0;
  for (const LayerShape& layer : found.model->layers) {
    const MoeMlp* moe = std::get_if<MoeMlp>(&layer.mlp);
    if (moe == nullptr) continue;
    mixture = true;
    idle += std::int64_t{moe->experts - moe->experts_per_token} * 3 * moe->expert_width *
            found.model->hidden_width;
  }
  if (!found.model->tied_head) idle += found.model->vocabulary * found.model->hidden_width;
  if (mixture) found.active_parameters = found.parameters - idle;
}

void read_names(const base::Json& config, Inspection& found) {
  const base::Json* type = config.find("model_type");
  if (type != nullptr && type->string() != nullptr) found.model_type = *type->string();
  const base::Json* classes = config.find("architectures");
  if (classes == nullptr || classes->array() == nullptr) return;
  for (const base::Json& name : *classes->array()) {
    if (name.string() != nullptr) found.architectures.push_back(*name.string());
  }
}

void read_shape(const base::Json& config, const std::string& source, Inspection& found) {
  if (is_drafter_config(config)) {
    std::vector<std::string> names;
    if (found.checkpoint) {
      for (const auto& [name, entry] : found.checkpoint->tensors()) names.push_back(name);
    }
    found.drafter = keep(parse_drafter_shape(config, source, names, 0), found.problems);
    if (!found.drafter) found.unknown.push_back("the drafter's shape: " + source + " was not understood");
    return;
  }
  base::Inspector doubts;
  const Family* family = identify_family(ConfigReader(config, source + ": ", doubts), false);
  if (family != nullptr && !family->runs) {
    found.unknown.push_back("the shape: models of family " + std::string(family->name) + " are not run yet");
    return;
  }
  found.model = keep(parse_model_shape(config, source), found.problems);
  if (!found.model) found.unknown.push_back("the shape: " + source + " was not understood");
}

// Where the config lies, if the path has one.
std::optional<std::string> config_of(const std::string& path, Inspection& found) {
  if (!is_folder(path))
    return path.ends_with(".json") && !path.ends_with(".index.json") ? std::optional(path) : std::nullopt;
  const auto file = keep(find_in_folder(path, "config.json"), found.problems);
  if (file && !file->has_value())
    found.unknown.push_back("the architecture and the shape: there is no config.json");
  return file && file->has_value() ? std::optional(join_path(path, "config.json")) : std::nullopt;
}

}  // namespace

Inspection inspect(const std::string& path) {
  Inspection found{.path = path,
                   .checkpoint = {},
                   .config = {},
                   .model_type = {},
                   .architectures = {},
                   .model = {},
                   .drafter = {},
                   .formats = {},
                   .active_parameters = {},
                   .unknown = {},
                   .warnings = {},
                   .problems = {}};
  const std::optional<std::string> config = config_of(path, found);
  if (is_folder(path) || !config) {
    found.checkpoint =
        keep(Checkpoint::open(path, [&](const std::string& text) { found.warnings.push_back(text); }),
             found.problems);
    if (!config && !is_folder(path))
      found.unknown.push_back("the architecture and the shape: a bare file of tensors does not say");
  }
  if (found.checkpoint) count_formats(found);
  if (!config) return found;
  const std::string source = printable_path(*config);
  found.config = keep(load_config(is_folder(path) ? path : *config, nullptr), found.problems);
  if (!found.config) return found;
  read_names(*found.config, found);
  read_shape(*found.config, source, found);
  if (!found.checkpoint) return found;
  if (found.model) {
    keep(check_weights(*found.checkpoint, *found.model, source), found.problems);
    count_active(found);
  }
  if (found.drafter) keep(check_weights(*found.checkpoint, *found.drafter, source), found.problems);
  return found;
}

std::string method_of(const DrafterShape& shape) {
  return shape.markov || shape.confidence ? "dspark" : "dflash";
}

std::string describe(const AttentionShape& shape) {
  const auto* grouped = std::get_if<GroupedAttention>(&shape);
  if (grouped == nullptr) return "of a kind that has no short description yet";
  std::string text = std::to_string(grouped->heads) + " heads, " + std::to_string(grouped->kv_heads) +
                     " of keys and values, width " + std::to_string(grouped->head_width);
  if (grouped->window) text += ", window " + std::to_string(*grouped->window);
  if (grouped->bias) text += ", with biases";
  return text;
}

std::string describe(const MlpShape& shape) {
  if (const auto* dense = std::get_if<DenseMlp>(&shape))
    return "dense, width " + std::to_string(dense->width);
  const auto* moe = std::get_if<MoeMlp>(&shape);
  if (moe == nullptr) return "of a kind that has no short description yet";
  return std::to_string(moe->experts) + " experts of width " + std::to_string(moe->expert_width) + ", " +
         std::to_string(moe->experts_per_token) + " a token";
}

}  // namespace outrider::checkpoint
