// outrider inspect: what a checkpoint holds, tensor by tensor.
#include "cli/inspect.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/json_write.h"
#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "cli/commands.h"

namespace outrider::cli {
namespace {

using checkpoint::DrafterShape;
using checkpoint::Inspection;
using checkpoint::LayerShape;
using checkpoint::ModelShape;

constexpr std::string_view kAbout =
    "Shows what a folder, a .safetensors file, an index or a config.json holds: architecture, parameters,\n"
    "formats, every tensor, and what a drafter needs of its target. What it does not know, it says. What "
    "would\n"
    "keep the engine from loading it stands on stderr, and the exit code is 2 then.";

// "20987904 (21.0 M)"
std::string count_text(std::int64_t count) {
  constexpr const char* kUnits[] = {"", " K", " M", " G", " T"};
  double scaled = static_cast<double>(count);
  std::size_t unit = 0;
  for (; scaled >= 1000 && unit + 1 < std::size(kUnits); ++unit) scaled /= 1000;
  if (unit == 0) return std::to_string(count);
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, " (%.3g%s)", scaled, kUnits[unit]);
  return std::to_string(count) + buffer;
}

std::string line(std::string label, const std::string& value) {
  constexpr std::size_t kColumn = 16;
  label.resize(std::max(label.size() + 1, kColumn), ' ');
  return "  " + label + value + "\n";
}

std::string printable_names(const std::vector<std::string>& names) {
  return names.empty() ? "-" : base::list_names(names);
}

// Runs of equal layers.
struct LayerRun {
  std::size_t first, count;
  const LayerShape* layer;
};
std::vector<LayerRun> runs_of(const std::vector<LayerShape>& layers) {
  std::vector<LayerRun> runs;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (runs.empty() || *runs.back().layer != layers[i])
      runs.push_back({.first = i, .count = 0, .layer = &layers[i]});
    runs.back().count += 1;
  }
  return runs;
}

std::string shape_lines(const ModelShape& shape) {
  std::string text = line("hidden width", std::to_string(shape.hidden_width)) +
                     line("vocabulary", std::to_string(shape.vocabulary)) +
                     line("positions", std::to_string(shape.positions_max)) +
                     line("layers", std::to_string(shape.layers.size()));
  for (const LayerRun& run : runs_of(shape.layers)) {
    const std::string range =
        run.count == 1 ? std::to_string(run.first)
                       : std::to_string(run.first) + " to " + std::to_string(run.first + run.count - 1);
    text += line("  " + range, "attention: " + checkpoint::describe(run.layer->attention) +
                                   "; mlp: " + checkpoint::describe(run.layer->mlp));
  }
  return text;
}

std::string taps_text(const DrafterShape& shape) {
  return checkpoint::shape_text(std::vector<std::int64_t>(shape.taps.begin(), shape.taps.end()));
}

constexpr const char* kFormatNames[] = {"DeepSpec", "speculators", "z-lab"};
constexpr const char* kMarkovNames[] = {"vanilla", "gated", "rnn"};

std::string drafter_lines(const DrafterShape& shape) {
  const bool anchor_first = shape.layout == checkpoint::BlockLayout::AnchorFirst;
  std::string heads = shape.markov
                          ? std::string("Markov ") + kMarkovNames[static_cast<int>(shape.markov->kind)] +
                                " of rank " + std::to_string(shape.markov->rank)
                          : "none";
  if (shape.confidence)
    heads += shape.confidence->with_markov ? "; confidence with Markov features" : "; confidence";
  std::string text = line("drafter", checkpoint::method_of(shape) + ", " +
                                         kFormatNames[static_cast<int>(shape.format)] + " format");
  text +=
      line("block", std::to_string(shape.block_size) + " slots, " + std::to_string(shape.drafts_per_block()) +
                        " drafts (" + (anchor_first ? "anchor first" : "one plus N") + "), mask token " +
                        std::to_string(shape.mask_token));
  text += line("heads", heads);
  if (shape.draft_vocabulary) text += line("its vocabulary", std::to_string(*shape.draft_vocabulary));
  text += "needs of its target\n";
  text += line("taps", taps_text(shape) + " (outputs of layers; -1 is the embedding)");
  text += line("hidden width", std::to_string(shape.backbone.hidden_width));
  text += line("vocabulary", std::to_string(shape.backbone.vocabulary));
  if (shape.target_layers) text += line("layers", std::to_string(*shape.target_layers));
  text += line("embedding", shape.own_embedding ? "no, it has its own" : "yes");
  text += line("head", shape.own_head ? "no, it has its own" : "yes");
  return text;
}

std::string tensor_lines(const checkpoint::Checkpoint& files) {
  std::size_t name_width = 4, shape_width = 5;
  for (const auto& [name, entry] : files.tensors()) {
    name_width = std::max(name_width, std::min<std::size_t>(base::printable(name).size(), 80));
    shape_width = std::max(shape_width, checkpoint::shape_text(entry.view.shape).size());
  }
  std::string text = "tensors: " + std::to_string(files.tensors().size()) + "\n";
  for (const auto& [name, entry] : files.tensors()) {
    std::string label = base::printable(name), shape = checkpoint::shape_text(entry.view.shape),
                dtype(tensor::name_of(entry.view.dtype));
    label.resize(std::max(label.size(), name_width), ' ');
    shape.resize(std::max(shape.size(), shape_width), ' ');
    dtype.resize(std::max<std::size_t>(dtype.size(), 7), ' ');
    text += "  " + label + "  " + dtype + "  " + shape + "  " + std::to_string(entry.stored_bytes()) +
            " bytes in " + base::printable(entry.file) + " at " + std::to_string(entry.offset) + "\n";
  }
  return text;
}

// --- JSON ---

void write_shape(const ModelShape& shape, base::JsonWriter& json) {
  json.begin_object().key("hidden_size").value(shape.hidden_width).key("vocab_size").value(shape.vocabulary);
  json.key("max_position_embeddings")
      .value(shape.positions_max)
      .key("num_hidden_layers")
      .value(static_cast<std::int64_t>(shape.layers.size()));
  json.key("tie_word_embeddings").value(shape.tied_head).key("layers").begin_array();
  for (const LayerRun& run : runs_of(shape.layers)) {
    json.begin_object()
        .key("first")
        .value(static_cast<std::int64_t>(run.first))
        .key("count")
        .value(static_cast<std::int64_t>(run.count));
    json.key("attention")
        .value(checkpoint::describe(run.layer->attention))
        .key("mlp")
        .value(checkpoint::describe(run.layer->mlp))
        .end_object();
  }
  json.end_array().end_object();
}

void write_drafter(const DrafterShape& shape, base::JsonWriter& json) {
  json.key("drafter").begin_object().key("method").value(checkpoint::method_of(shape));
  json.key("format").value(kFormatNames[static_cast<int>(shape.format)]);
  json.key("layout").value(shape.layout == checkpoint::BlockLayout::AnchorFirst ? "anchor_first"
                                                                                : "one_plus_n");
  json.key("block_size").value(shape.block_size).key("drafts_per_block").value(shape.drafts_per_block());
  json.key("mask_token_id").value(std::int64_t{shape.mask_token}).key("markov");
  if (shape.markov) {
    json.begin_object()
        .key("type")
        .value(kMarkovNames[static_cast<int>(shape.markov->kind)])
        .key("rank")
        .value(shape.markov->rank)
        .end_object();
  } else {
    json.null();
  }
  json.key("confidence");
  if (shape.confidence) {
    json.begin_object().key("with_markov").value(shape.confidence->with_markov).end_object();
  } else {
    json.null();
  }
  json.key("draft_vocab_size").value(shape.draft_vocabulary.value_or(shape.backbone.vocabulary));
  json.end_object().key("needs").begin_object().key("taps").values(shape.taps);
  json.key("hidden_size")
      .value(shape.backbone.hidden_width)
      .key("vocab_size")
      .value(shape.backbone.vocabulary)
      .key("num_hidden_layers");
  shape.target_layers ? json.value(*shape.target_layers) : json.null();
  json.key("embedding").value(!shape.own_embedding).key("head").value(!shape.own_head).end_object();
}

void write_tensors(const checkpoint::Checkpoint& files, base::JsonWriter& json) {
  json.key("tensors").begin_array();
  for (const auto& [name, entry] : files.tensors()) {
    json.begin_object()
        .key("name")
        .value(name)
        .key("dtype")
        .value(tensor::name_of(entry.view.dtype))
        .key("shape")
        .values(entry.view.shape);
    json.key("bytes")
        .value(entry.stored_bytes())
        .key("file")
        .value(entry.file)
        .key("offset")
        .value(entry.offset)
        .end_object();
  }
  json.end_array();
}

}  // namespace

std::string inspection_text(const Inspection& found) {
  std::string text = base::printable(found.path, 4096) + "\n";
  if (found.config) {
    text += line("architectures", printable_names(found.architectures));
    text += line("model type", found.model_type.empty() ? "-" : base::printable(found.model_type));
  }
  if (found.checkpoint) {
    text += line("parameters", count_text(found.parameters));
    if (found.active_parameters) text += line("  at work", count_text(*found.active_parameters));
    for (const auto& [dtype, count] : found.formats) {
      text += line("format", std::string(tensor::name_of(dtype)) + ": " + std::to_string(count.tensors) +
                                 " tensors, " + count_text(count.bytes) + " bytes");
    }
  }
  if (found.model) text += line("family", found.model->family) + shape_lines(*found.model);
  if (found.drafter) text += shape_lines(found.drafter->backbone) + drafter_lines(*found.drafter);
  for (const std::string& unknown : found.unknown) text += "not known: " + unknown + "\n";
  if (found.checkpoint) text += tensor_lines(*found.checkpoint);
  return text;
}

std::string inspection_json(const Inspection& found) {
  base::JsonWriter json;
  json.begin_object().key("path").value(found.path).key("architectures").values(found.architectures);
  json.key("model_type").value(found.model_type);
  json.key("kind").value(found.drafter ? "drafter" : found.model ? "target" : "unknown");
  json.key("family");
  found.model ? json.value(found.model->family) : json.null();
  if (found.model || found.drafter) {
    json.key("shape");
    write_shape(found.model ? *found.model : found.drafter->backbone, json);
  }
  if (found.drafter) write_drafter(*found.drafter, json);
  if (found.checkpoint) {
    json.key("parameters").value(found.parameters);
    if (found.active_parameters) json.key("active_parameters").value(*found.active_parameters);
    json.key("formats").begin_array();
    for (const auto& [dtype, count] : found.formats) {
      json.begin_object().key("dtype").value(tensor::name_of(dtype)).key("tensors").value(count.tensors);
      json.key("elements").value(count.elements).key("bytes").value(count.bytes).end_object();
    }
    json.end_array();
    write_tensors(*found.checkpoint, json);
  }
  json.key("unknown")
      .values(found.unknown)
      .key("warnings")
      .values(found.warnings)
      .key("problems")
      .begin_array();
  for (const base::Problem& problem : found.problems) {
    json.begin_object().key("field").value(problem.field).key("found").value(problem.found);
    json.key("rule").value(problem.rule).key("remedy").value(problem.remedy).end_object();
  }
  json.end_array().end_object();
  return json.text();
}

int run_inspect(std::span<const std::string> words) {
  const std::vector<base::Flag> flags = {
      {.name = "--json", .kind = base::FlagKind::Switch, .value_name = "", .help = "Print one JSON object."}};
  if (printed_help(words, "inspect PATH [--json]", kAbout, flags)) return kDone;
  base::Inspector inspector;
  const base::FlagValues values = base::parse_flags(words, flags, inspector);
  const auto& paths = values.positionals();
  inspector.require(paths.size() == 1, {.field = "PATH",
                                        .found = base::list_names(paths),
                                        .rule = "one folder or file must be given",
                                        .remedy = ""});
  if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
  const Inspection found = checkpoint::inspect(paths[0]);
  const bool json = values.boolean("--json").value_or(false);
  const bool anything = found.checkpoint || found.config;
  if (json) std::printf("%s\n", inspection_json(found).c_str());
  if (!json && anything) std::fputs(inspection_text(found).c_str(), stdout);
  std::fflush(stdout);
  for (const std::string& warning : found.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  return found.problems.empty() ? kDone : print_refusal(base::Refusal{found.problems});
}

}  // namespace outrider::cli
