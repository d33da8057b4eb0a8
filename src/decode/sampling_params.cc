#include "decode/sampling_params.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/flags.h"
#include "base/strings.h"

namespace outrider::decode {
namespace {

std::string field_name(std::string name, FieldNames names) {
  if (names == FieldNames::Json) return name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

}  // namespace

void check_sampling(const SamplingParams& params, std::int64_t vocabulary, base::Inspector& inspector,
                    FieldNames names) {
  const auto require_number = [&](const char* name, double value, bool in_range, const char* rule) {
    inspector.require(std::isfinite(value) && in_range,
                      {.field = field_name(name, names),
                       .found = base::to_text(value),
                       .rule = std::string("must be a finite number ") + rule,
                       .remedy = {}});
  };
  require_number("temperature", params.temperature, params.temperature >= 0,
                 "of at least 0; 0 picks the likeliest token");
  inspector.require(params.top_k >= -1, {.field = field_name("top_k", names),
                                         .found = std::to_string(params.top_k),
                                         .rule = "must be at least 1, or 0 or -1 for all tokens",
                                         .remedy = {}});
  require_number("top_p", params.top_p, params.top_p > 0 && params.top_p <= 1, "above 0 and at most 1");
  require_number("min_p", params.min_p, params.min_p >= 0 && params.min_p <= 1, "from 0 to 1");
  require_number("repetition_penalty", params.repetition_penalty, params.repetition_penalty > 0,
                 "above 0; 1 changes nothing");
  require_number("presence_penalty", params.presence_penalty, std::abs(params.presence_penalty) <= 2,
                 "from -2 to 2");
  require_number("frequency_penalty", params.frequency_penalty, std::abs(params.frequency_penalty) <= 2,
                 "from -2 to 2");
  for (const auto& [id, bias] : params.logit_bias) {
    const std::string field = field_name("logit_bias", names) + "[" + std::to_string(id) + "]";
    inspector.require(
        id >= 0 && id < vocabulary,
        {.field = field,
         .found = base::to_text(bias),
         .rule = "names a token outside the vocabulary of " + std::to_string(vocabulary) + " tokens",
         .remedy = "ids run from 0 to " + std::to_string(std::max<std::int64_t>(vocabulary, 1) - 1)});
    inspector.require(
        std::isfinite(bias) && std::abs(bias) <= 100,
        {.field = field, .found = base::to_text(bias), .rule = "must be from -100 to 100", .remedy = {}});
  }
}

base::Result<std::vector<std::pair<base::TokenId, double>>> parse_logit_bias(const base::Json& json,
                                                                             const std::string& field) {
  const base::Json::Object* object = json.object();
  if (object == nullptr) {
    return base::refuse({.field = field,
                         .found = json.excerpt(),
                         .rule = "must be an object of token ids and numbers",
                         .remedy = "write it as {\"42\": -1.5}"});
  }
  base::Inspector inspector;
  std::vector<std::pair<base::TokenId, double>> biases;
  for (const auto& [key, value] : *object) {
    const std::optional<std::int64_t> id = base::parse_integer(key);
    const bool is_id =
        id && *id >= 0 && *id <= std::numeric_limits<base::TokenId>::max() && std::to_string(*id) == key;
    inspector.require(is_id, {.field = field,
                              .found = base::printable(key),
                              .rule = "is no token id: a plain decimal integer of at least 0",
                              .remedy = {}});
    inspector.require(value.number().has_value(), {.field = field + "[" + base::printable(key) + "]",
                                                   .found = value.excerpt(),
                                                   .rule = "must be a number",
                                                   .remedy = {}});
    if (is_id && value.number()) biases.emplace_back(static_cast<base::TokenId>(*id), *value.number());
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  std::sort(biases.begin(), biases.end());
  return biases;
}

}  // namespace outrider::decode
