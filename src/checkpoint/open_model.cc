#include "checkpoint/open_model.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/inspector.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "checkpoint/check_tensors.h"
#include "checkpoint/drafter_match.h"
#include "checkpoint/dummy.h"
#include "checkpoint/families.h"
#include "checkpoint/folder.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/tensor_axes.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kGenerationConfigBytesMax = std::size_t{1} << 20;

// Published files of the families that run carry these though nobody reads them: a table that follows from
// rope_theta.
const std::vector<std::string>& unread_suffixes() {
  static const std::vector<std::string> suffixes = {".rotary_emb.inv_freq"};
  return suffixes;
}

std::string config_source(const std::string& path) {
  return printable_path(is_folder(path) ? join_path(path, "config.json") : path);
}

base::Result<base::Done> check_place(const std::string& path, const OpenOptions& options) {
  if (options.load_format == LoadFormat::Dummy || is_folder(path)) return base::Done{};
  return base::refuse({.field = printable_path(path),
                       .found = "",
                       .rule = "must be a folder with config.json and its weights",
                       .remedy = ""});
}

// The layers that names speak of ("layers.12."): how many there are if they are 0, 1, 2, ...
std::size_t count_layers(const Checkpoint& checkpoint) {
  constexpr std::string_view kWord = "layers.";
  std::set<int> layers;
  for (const auto& [name, entry] : checkpoint.tensors()) {
    const std::size_t at = name.find(kWord);
    if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) continue;
    int index = 0;
    const char* first = name.data() + at + kWord.size();
    if (std::from_chars(first, name.data() + name.size(), index).ec == std::errc()) layers.insert(index);
  }
  return layers.size();
}

base::Result<base::Done> check_against(const Checkpoint& checkpoint, std::vector<TensorSpec> expected,
                                       std::size_t layer_count, const std::string& source) {
  for (TensorSpec& spec : expected) spec.axes = tensor_axes(spec.name);
  auto checked = check_tensors(checkpoint, expected, unread_suffixes());
  if (checked.ok()) return base::Done{};
  base::Inspector inspector;
  const std::size_t found = count_layers(checkpoint);
  inspector.require(found == layer_count, {.field = source + ": num_hidden_layers",
                                           .found = std::to_string(layer_count),
                                           .rule = "the weights hold " + std::to_string(found) + " layers",
                                           .remedy = ""});
  inspector.report_all(std::move(checked).error());
  return std::move(inspector).refuse();
}

// The end tokens that generation_config.json adds; without the file, none.
base::Result<std::vector<base::TokenId>> load_end_tokens(const std::string& folder, std::int64_t vocabulary) {
  std::vector<base::TokenId> tokens;
  if (!is_folder(folder)) return tokens;
  OUTRIDER_TRY(const std::optional<std::string> path, find_in_folder(folder, "generation_config.json"));
  if (!path) return tokens;
  const std::string source = printable_path(join_path(folder, "generation_config.json"));
  OUTRIDER_TRY(const std::string text, base::read_text_file(*path, kGenerationConfigBytesMax));
  OUTRIDER_TRY(const base::Json tree, base::parse_json(text, source));
  const base::Json* value = tree.find("eos_token_id");
  if (value == nullptr || value->is_null()) return tokens;
  const base::Json::Array alone = {*value};
  for (const base::Json& item : value->array() != nullptr ? *value->array() : alone) {
    const std::int64_t* id = item.integer();
    if (id == nullptr || *id < 0 || *id >= vocabulary) {
      return base::refuse({.field = source + ": eos_token_id",
                           .found = value->excerpt(),
                           .rule = "must be token ids below vocab_size = " + std::to_string(vocabulary),
                           .remedy = ""});
    }
    tokens.push_back(static_cast<base::TokenId>(*id));
  }
  return tokens;
}

std::unique_ptr<const TensorSource> dummy_weights(const std::vector<TensorSpec>& specs,
                                                  const OpenOptions& options) {
  return std::make_unique<const DummyWeights>(specs, options.seed);
}

}  // namespace

base::Result<base::Done> check_weights(const Checkpoint& checkpoint, const ModelShape& shape,
                                       const std::string& source) {
  // A few digits of a config can ask for a million experts: nothing is listed then that the weights come
  // nowhere near.
  constexpr std::int64_t kListedAnyway = 100'000;
  std::int64_t expected = 0;
  for (const TensorGroup& group : list_tensors(shape)) expected += group.count;
  const auto found = static_cast<std::int64_t>(checkpoint.tensors().size());
  if (expected > kListedAnyway + 2 * found) {
    return base::refuse({.field = source,
                         .found = std::to_string(expected) + " tensors by num_hidden_layers and num_experts",
                         .rule = "the weights hold " + std::to_string(found) + ", in " +
                                 std::to_string(count_layers(checkpoint)) + " layers",
                         .remedy = ""});
  }
  return check_against(checkpoint, expected_tensors(shape), shape.layers.size(), source);
}

base::Result<base::Done> check_weights(const Checkpoint& checkpoint, const DrafterShape& shape,
                                       const std::string& source) {
  return check_against(checkpoint, expected_tensors(shape), shape.backbone.layers.size(), source);
}

base::Result<OpenedModel> open_model(const std::string& path, const OpenOptions& options, const Warn& warn) {
  OUTRIDER_TRY_DONE(check_place(path, options));
  const std::string source = config_source(path);
  OUTRIDER_TRY(base::Json config, load_config(path, options.overrides));
  if (is_drafter_config(config)) {
    return base::refuse({.field = source,
                         .found = "",
                         .rule = "is a drafter's: it cannot run without a target",
                         .remedy = "name it as the model of --speculative-config"});
  }
  OUTRIDER_TRY(ModelShape shape, parse_model_shape(config, source));
  OUTRIDER_TRY(std::vector<base::TokenId> ends, load_end_tokens(path, shape.vocabulary));
  ends.insert(ends.end(), shape.end_token_ids.begin(), shape.end_token_ids.end());
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());

  std::unique_ptr<const TensorSource> weights;
  if (options.load_format == LoadFormat::Dummy) {
    weights = dummy_weights(expected_tensors(shape), options);
  } else {
    OUTRIDER_TRY(Checkpoint checkpoint, Checkpoint::open(path, warn));
    OUTRIDER_TRY_DONE(check_weights(checkpoint, shape, source));
    weights = std::make_unique<const Checkpoint>(std::move(checkpoint));
  }
  return OpenedModel{.shape = std::move(shape),
                     .weights = std::move(weights),
                     .config = std::move(config),
                     .end_token_ids = std::move(ends)};
}

namespace {

// `target` may be null.
base::Result<OpenedDrafter> open_for(const std::string& path, const ModelShape* target,
                                     const OpenOptions& options, const Warn& warn) {
  OUTRIDER_TRY_DONE(check_place(path, options));
  const std::string source = config_source(path);
  OUTRIDER_TRY(base::Json config, load_config(path, options.overrides));
  const auto layer_count = target == nullptr ? 0 : static_cast<int>(target->layers.size());
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> names;  // sorted, as a map's keys are
  if (options.load_format == LoadFormat::Mmap) {
    OUTRIDER_TRY(checkpoint, Checkpoint::open(path, warn));
    for (const auto& [name, entry] : checkpoint->tensors()) names.push_back(name);
  }
  OUTRIDER_TRY(DrafterShape shape, parse_drafter_shape(config, source, names, layer_count));
  base::Inspector inspector;
  if (target != nullptr) check_drafter_match(shape, *target, source, inspector);
  if (checkpoint) {
    auto checked = check_weights(*checkpoint, shape, source);
    if (!checked.ok()) inspector.report_all(std::move(checked).error());
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  std::unique_ptr<const TensorSource> weights;
  if (checkpoint) {
    weights = std::make_unique<const Checkpoint>(std::move(*checkpoint));
  } else {
    weights = dummy_weights(expected_tensors(shape), options);
  }
  return OpenedDrafter{.shape = std::move(shape), .weights = std::move(weights), .config = std::move(config)};
}

}  // namespace

base::Result<OpenedDrafter> open_drafter(const std::string& path, const ModelShape& target,
                                         const OpenOptions& options, const Warn& warn) {
  return open_for(path, &target, options, warn);
}

base::Result<OpenedDrafter> open_lone_drafter(const std::string& path, const OpenOptions& options,
                                              const Warn& warn) {
  return open_for(path, nullptr, options, warn);
}

}  // namespace outrider::checkpoint
