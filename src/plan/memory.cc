#include "plan/memory.h"

#include <algorithm>

namespace outrider::plan {
namespace {

using checkpoint::Cut;
using checkpoint::Facts;
using checkpoint::TensorGroup;

// Bits of a weight: packed groups of 32 have a scale of 16 (kernels/layout.h).
double bits_of(const std::optional<std::string>& quantization, const std::string& compute_dtype, bool table) {
  if (quantization == "int8" || (quantization == "int4" && table)) return 8.5;
  if (quantization == "int4") return 4.5;
  return compute_dtype == "float32" ? 32 : 16;
}

bool is_matrix(const TensorGroup& group) {
  return group.shape.size() >= 2 && group.cut != Cut::Replicated && group.parameters > 0;
}

double weights_of(const Facts& facts, const RoleSettings& settings, bool of_drafter, bool mapped) {
  double bytes = 0;
  for (const TensorGroup& group : facts.tensors) {
    if (group.drafter != of_drafter || group.alias || group.optional || group.cut == Cut::Unplaced) continue;
    const auto count = static_cast<double>(group.count);
    if (mapped && group.cut == Cut::Expert) continue;
    if (is_matrix(group)) {
      const double bits =
          bits_of(settings.quantization, *settings.compute_dtype, group.cut == Cut::Vocabulary);
      bytes += static_cast<double>(group.parameters) * count * bits / 8;
    } else {
      bytes += static_cast<double>(group.bytes()) * count;
    }
  }
  return bytes;
}

// All layers keep all positions: a rejected draft is undone by its position.
double kv_of(const std::vector<checkpoint::KvGroup>& groups, const RoleSettings& settings) {
  double elements = 0;
  for (const checkpoint::KvGroup& group : groups) {
    if (group.kind == checkpoint::KvKind::Recurrent) continue;
    elements += static_cast<double>(group.elements) * static_cast<double>(group.layers.size()) /
                static_cast<double>(std::max<std::int64_t>(group.per_tokens, 1));
  }
  const double positions =
      static_cast<double>(*settings.num_kv_blocks) * static_cast<double>(settings.kv_block_size);
  return elements * positions * (settings.kv_store_dtype == "float32" ? 4 : 2);
}

// Floats of a row while a layer runs: streams, queries, keys and values, gate and up.
double row_floats(const checkpoint::ModelFacts& model) {
  std::int64_t widest = model.moe ? model.moe->expert_width * model.moe->experts_per_token : 0;
  for (const checkpoint::CutWidth& cut : model.widths) {
    if (cut.what != "vocabulary" && cut.what != "draft vocabulary") widest = std::max(widest, cut.width);
  }
  const std::int64_t heads = std::int64_t{model.heads} + 2 * model.kv_heads;
  return static_cast<double>(6 * model.hidden_width + heads * model.head_width.value_or(128) + 3 * widest);
}

// Rows that one step can have: no more than the known prompts, where they are known.
double step_rows(const Question& question) {
  auto rows = static_cast<double>(question.target.max_num_batched_tokens.value_or(1));
  if (!question.intent.requests) return rows;
  double prompts = 0;
  for (const KnownRequest& request : *question.intent.requests)
    prompts += static_cast<double>(request.prompt_tokens);
  return std::min(rows, std::max(prompts, 64.0));
}

double buffers_of(const Question& question) {
  constexpr double kProgram = 64 << 20;  // code, tables, what a tokenizer holds
  const checkpoint::ModelFacts& model = question.model();
  const double sequences = static_cast<double>(*question.target.max_num_seqs);
  const double drafts =
      question.drafting ? static_cast<double>(question.drafting->num_speculative_tokens) : 0;
  const double taps =
      question.drafting && question.drafting->taps ? static_cast<double>(question.drafting->taps->size()) : 0;
  const double rows = step_rows(question);
  const double logit_rows = std::min(sequences * (drafts + 1), std::max(rows, drafts + 1));
  // Rotary tables reach as far as any position of the cache.
  const double positions = std::min(static_cast<double>(question.target.max_model_len.value_or(0)),
                                    static_cast<double>(*question.target.num_kv_blocks) *
                                        static_cast<double>(question.target.kv_block_size));
  const auto rotary = static_cast<double>(model.head_width.value_or(128)) * positions;
  return kProgram + 4 * (rows * (row_floats(model) + taps * static_cast<double>(model.hidden_width)) +
                         logit_rows * static_cast<double>(model.vocabulary) + rotary);
}

}  // namespace

std::optional<MemoryNeed> derive_memory(const Question& question) {
  const RoleSettings& target = question.target;
  if (!question.is(Engine::Outrider) || shape_of(target).world() != 1) return std::nullopt;
  if (!target.num_kv_blocks || *target.num_kv_blocks < 1 || target.kv_block_size < 1) return std::nullopt;
  MemoryNeed need;
  const bool dummy = target.load_format == "dummy";
  need.weights =
      weights_of(question.facts.target, target, false, question.model().packed_bits.has_value() && !dummy);
  need.kv = kv_of(question.model().kv, target);
  need.buffers = buffers_of(question);
  if (!question.draft || !question.draft->num_kv_blocks) return need;
  const DraftView& view = *question.view;
  const Facts& file =
      view.inside_target || !question.facts.draft ? question.facts.target : *question.facts.draft;
  const bool inside = view.inside_target || view.native_elsewhere;
  need.draft_weights =
      weights_of(file, *question.draft, inside, view.model->packed_bits.has_value() && !dummy);
  need.draft_kv = kv_of(*view.kv, *question.draft);
  return need;
}

}  // namespace outrider::plan
