#include "checkpoint/facts.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "checkpoint/config_reader.h"
#include "checkpoint/derive_facts.h"
#include "checkpoint/families.h"

namespace outrider::checkpoint {
namespace {

// Stages whose tensors a file holds: "mtp.2.", or layers behind the target's last.
int count_stages(const std::vector<std::string>& names, int layer_count) {
  const auto holds = [&](const std::string& prefix) {
    const auto at = std::lower_bound(names.begin(), names.end(), prefix);
    return at != names.end() && at->starts_with(prefix);
  };
  int count = 0;
  while (holds("mtp." + std::to_string(count) + ".") ||
         holds("model.layers." + std::to_string(layer_count + count) + ".")) {
    ++count;
  }
  return count;
}

// Keys promise a drafter; the tensors tell whether it is there and how many stages it has.
void settle_stages(ModelShape& shape, const FactsOptions& options) {
  if (options.tensor_names.empty() || !shape.inside_drafter) return;
  const int stages = count_stages(options.tensor_names, static_cast<int>(shape.layers.size()));
  if (stages == 0) {
    shape.inside_drafter.reset();
  } else {
    std::visit([&](auto& drafter) { drafter.stages = stages; }, *shape.inside_drafter);
  }
}

// An ordinary causal LM that drafts: PARD where it says so.
void make_drafter(const ConfigReader& outer, bool as_draft_model, Facts& facts) {
  const std::optional<std::int64_t> token = outer.integer_if("pard_token", 0, kVocabularyMax);
  if (!token && !as_draft_model) return;
  if (token) {
    outer.require(*token < facts.model.vocabulary, "pard_token",
                  "must be below vocab_size = " + std::to_string(facts.model.vocabulary));
  }
  facts.is_drafter = true;
  facts.drafter = DrafterFacts{.method = token ? DraftMethod::Pard : DraftMethod::DraftModel,
                               .format = token ? "HF causal LM + pard_token" : "HF causal LM",
                               .stages = facts.model.layer_count,
                               .causal = true,
                               .draft_vocabulary = facts.model.vocabulary,
                               .own_embedding = true,
                               .own_head = !facts.model.tied_head,
                               .pard_token = token};
  // A drafter's own multi-token-prediction layers are not used.
  std::erase_if(facts.tensors, [](const TensorGroup& group) { return group.drafter; });
}

// A family that lists its tensors as plain ones knows no sizes of a quantised file.
void settle_sizes(Facts& facts) {
  if (!facts.model.quantisation) return;
  const bool coded = std::any_of(facts.tensors.begin(), facts.tensors.end(), [](const TensorGroup& group) {
    return group.dtype == tensor::Dtype::F8E4M3 || group.dtype == tensor::Dtype::I8 ||
           group.dtype == tensor::Dtype::U8 || group.dtype == tensor::Dtype::I32;
  });
  facts.model.quantisation->sizes_known &= coded;
}

std::optional<Facts> read_model_facts(const ConfigReader& outer, const FactsOptions& options) {
  const Family* family = identify_family(outer, false);
  if (family == nullptr) return std::nullopt;
  const ConfigReader text = text_settings(outer);
  ModelShape shape = family->read(text, outer);
  if (shape.layers.empty()) return std::nullopt;
  settle_stages(shape, options);
  Facts facts{.model = derive_model_facts(shape, text, outer),
              .drafter = derive_inside_drafter(shape),
              .tensors = list_tensors(shape)};
  // What may be absent is not counted.
  std::erase_if(facts.tensors, [](const TensorGroup& group) { return group.optional; });
  const bool listed =
      std::any_of(facts.tensors.begin(), facts.tensors.end(), [](const auto& g) { return g.drafter; });
  if (facts.drafter && !listed)
    facts.drafter->layer_ids.clear();  // its tensors have names that nobody published
  make_drafter(outer, options.as_draft_model, facts);
  settle_sizes(facts);
  return facts;
}

}  // namespace

std::int64_t KvGroup::bytes_per_token_bf16() const {
  const std::int64_t all = 2 * elements * static_cast<std::int64_t>(layers.size());
  return (all + per_tokens - 1) / per_tokens;
}

std::string_view name_of(DraftMethod method) {
  switch (method) {
    case DraftMethod::DSpark:
      return "dspark";
    case DraftMethod::DFlash:
      return "dflash";
    case DraftMethod::Eagle3:
      return "eagle3";
    case DraftMethod::Mtp:
      return "mtp";
    case DraftMethod::Pard:
      return "pard";
    case DraftMethod::DraftModel:
      return "draft_model";
  }
  OUTRIDER_CHECK(false);
  return {};
}

std::int64_t Facts::parameters(bool of_drafter) const {
  std::int64_t sum = 0;
  for (const TensorGroup& group : tensors) {
    if (group.drafter == of_drafter) sum += group.count * group.parameters;
  }
  return sum;
}

std::int64_t Facts::tensor_count() const {
  std::int64_t sum = 0;
  for (const TensorGroup& group : tensors) sum += group.count;
  return sum;
}

std::int64_t Facts::bytes_on_disk() const {
  std::int64_t sum = 0;
  for (const TensorGroup& group : tensors) sum += group.count * group.bytes();
  return sum;
}

FactsReading read_facts(const base::Json& config, const std::string& source, const FactsOptions& options) {
  if (config.object() == nullptr) {
    return {.facts = {},
            .problems = {
                {.field = source, .found = config.excerpt(), .rule = "must be a JSON object", .remedy = ""}}};
  }
  base::Inspector inspector;
  const ConfigReader outer(config, source + ": ", inspector, true);
  FactsReading reading;
  reading.facts = read_drafter_facts(outer, options);
  if (!reading.facts && inspector.clean()) reading.facts = read_model_facts(outer, options);
  // Families read some keys at several places: one fault, told once.
  for (const base::Problem& problem : inspector.problems()) {
    if (std::find(reading.problems.begin(), reading.problems.end(), problem) == reading.problems.end()) {
      reading.problems.push_back(problem);
    }
  }
  if (!reading.facts && reading.problems.empty()) {
    reading.problems.push_back(
        {.field = source, .found = "", .rule = "names no model that is known", .remedy = ""});
  }
  return reading;
}

base::Result<Facts> parse_facts(const base::Json& config, const std::string& source,
                                const FactsOptions& options) {
  FactsReading reading = read_facts(config, source, options);
  if (!reading.problems.empty()) return base::Refusal{std::move(reading.problems)};
  return std::move(*reading.facts);
}

}  // namespace outrider::checkpoint
