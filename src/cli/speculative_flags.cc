#include "cli/speculative_flags.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace outrider::cli {
namespace {

constexpr std::array kKeys = {"method",
                              "model",
                              "num_speculative_tokens",
                              "block_size",
                              "rejection_sample_method",
                              "synthetic_acceptance_rates",
                              "synthetic_acceptance_length",
                              "draft_sample_method",
                              "confidence_threshold",
                              "quantization",
                              "prompt_lookup_max",
                              "prompt_lookup_min"};

class Reader {
 public:
  Reader(const base::Json& json, base::Inspector& inspector) : json_(json), inspector_(inspector) {}

  const base::Json* find(const char* key) const { return json_.find(key); }
  void problem(const std::string& key, const std::string& found, const std::string& rule,
               const std::string& remedy = "") {
    inspector_.report(
        {.field = "--speculative-config " + key, .found = found, .rule = rule, .remedy = remedy});
  }
  std::optional<std::string> text(const char* key) {
    const base::Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (value->string() == nullptr) {
      problem(key, value->excerpt(), "must be a string");
      return std::nullopt;
    }
    return *value->string();
  }
  std::optional<int> integer(const char* key, std::int64_t least, std::int64_t most) {
    const base::Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (value->integer() == nullptr || *value->integer() < least || *value->integer() > most) {
      problem(key, value->excerpt(),
              "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
      return std::nullopt;
    }
    return static_cast<int>(*value->integer());
  }
  std::optional<double> number(const char* key) {
    const base::Json* value = find(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->number()) problem(key, value->excerpt(), "must be a number");
    return value->number();
  }
  template <class T>
  void parsed(base::Result<T> result, T& into) {
    if (result.ok()) {
      into = std::move(result).value();
    } else {
      inspector_.report_all(std::move(result).error());
    }
  }

 private:
  const base::Json& json_;
  base::Inspector& inspector_;
};

std::string nearest_key(const std::string& unknown) {
  std::string nearest;
  std::size_t distance = std::max<std::size_t>(3, unknown.size() / 3);
  for (const char* key : kKeys) {
    const std::size_t d = base::edit_distance(unknown, key);
    if (d < distance) {
      distance = d;
      nearest = key;
    }
  }
  return nearest;
}

void read_rates(Reader& reader, engine::SpeculativeSettings& settings) {
  settings.synthetic_length = reader.number("synthetic_acceptance_length");
  const base::Json* rates = reader.find("synthetic_acceptance_rates");
  if (rates == nullptr) return;
  settings.synthetic_rates.emplace();
  if (rates->array() == nullptr)
    return reader.problem("synthetic_acceptance_rates", rates->excerpt(), "must be a list of numbers");
  for (const base::Json& rate : *rates->array()) {
    if (!rate.number())
      return reader.problem("synthetic_acceptance_rates", rate.excerpt(), "must be a number");
    settings.synthetic_rates->push_back(*rate.number());
  }
}

}  // namespace

std::optional<SpeculativeFlags> parse_speculative(const base::Json& json, base::Inspector& inspector) {
  Reader reader(json, inspector);
  for (const base::Json::Member& member : *json.object()) {
    if (std::find(kKeys.begin(), kKeys.end(), member.first) != kKeys.end()) continue;
    const std::string near = nearest_key(member.first);
    reader.problem(base::printable(member.first), "", "is no key of this engine",
                   near.empty() ? "" : "did you mean " + near + "?");
  }
  SpeculativeFlags flags{.settings = {.method = engine::DraftMethod::DSpark}, .model = reader.text("model")};
  engine::SpeculativeSettings& settings = flags.settings;
  const std::string method = reader.text("method").value_or("");
  if (method == "ngram") {
    settings.method = engine::DraftMethod::Ngram;
  } else if (method == "dflash") {
    settings.method = engine::DraftMethod::DFlash;
  } else if (method != "dspark") {
    reader.problem("method", method, "must be dspark, dflash or ngram");
  }
  if (settings.method == engine::DraftMethod::Ngram) {
    if (flags.model) reader.problem("model", *flags.model, "has no meaning for ngram");
  } else if (!flags.model) {
    reader.problem("model", "", "is needed: the drafter's folder");
  }
  settings.draft_tokens = reader.integer("num_speculative_tokens", 0, 256);
  settings.block_size = reader.integer("block_size", 1, 512);
  settings.lookup_max = reader.integer("prompt_lookup_max", 1, 64).value_or(5);
  settings.lookup_min = reader.integer("prompt_lookup_min", 1, 64).value_or(1);
  if (settings.lookup_min > settings.lookup_max) {
    reader.problem("prompt_lookup_min", std::to_string(settings.lookup_min),
                   "must not exceed prompt_lookup_max = " + std::to_string(settings.lookup_max));
  }
  settings.confidence_threshold = reader.number("confidence_threshold").value_or(0);
  if (settings.confidence_threshold < 0 || settings.confidence_threshold > 1) {
    reader.problem("confidence_threshold", base::to_text(settings.confidence_threshold),
                   "must lie in 0 to 1");
  }
  const std::string prefix = "--speculative-config ";
  if (const auto name = reader.text("rejection_sample_method")) {
    reader.parsed(decode::parse_accept_method(*name, prefix + "rejection_sample_method"), settings.accept);
  }
  if (const auto name = reader.text("draft_sample_method")) {
    reader.parsed(decode::parse_draft_sample_method(*name, prefix + "draft_sample_method"),
                  settings.sample_method);
  }
  if (const auto name = reader.text("quantization")) {
    if (*name == "int8" || *name == "int4") {
      settings.quantization = *name == "int8" ? kernels::WeightFormat::Int8 : kernels::WeightFormat::Int4;
    } else {
      reader.problem("quantization", base::printable(*name), "must be int8 or int4");
    }
  }
  read_rates(reader, settings);
  return flags;
}

}  // namespace outrider::cli
