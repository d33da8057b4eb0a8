#include "text/tokenizer_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/strings.h"

namespace outrider::text {
namespace {

constexpr std::size_t kProblemsPerPart = 20;
constexpr int kSequenceDepthMax = 8;
constexpr std::size_t kSplitCountMax = 64;

// The GPT-2 split, which ByteLevel brings along where use_regex is true.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string quoted(std::string_view text) { return "\"" + base::printable(text) + "\""; }

bool is_absent(const base::Json* json) { return json == nullptr || json->is_null(); }

// Calls `visit` for each object that is no Sequence, in order; `children` are the key's names of a Sequence's
// list.
void walk(
    const base::Json& json, const std::string& part, std::string_view children, int depth, FileReport& report,
    const std::function<void(const base::Json&, const std::string& type, const std::string& part)>& visit) {
  const base::Json* type = json.find("type");
  if (type == nullptr || type->string() == nullptr) {
    report.report(part, json.excerpt(), "must be an object with a \"type\"");
    return;
  }
  if (*type->string() != "Sequence") return visit(json, *type->string(), part);
  if (depth == kSequenceDepthMax) {
    report.report(part, "Sequence", "sequences may lie " + std::to_string(kSequenceDepthMax) + " deep");
    return;
  }
  const base::Json* list = json.find(children);
  if (list == nullptr || list->array() == nullptr) {
    report.report(part + "." + std::string(children), list == nullptr ? "" : list->excerpt(),
                  "must be an array");
    return;
  }
  for (std::size_t i = 0; i < list->array()->size(); ++i) {
    walk((*list->array())[i], part + "." + std::string(children) + "[" + std::to_string(i) + "]", children,
         depth + 1, report, visit);
  }
}

std::optional<bool> read_flag(const base::Json& object, std::string_view key, const std::string& part,
                              FileReport& report, std::optional<bool> otherwise = std::nullopt) {
  const base::Json* value = object.find(key);
  if (value == nullptr && otherwise) return otherwise;
  if (value != nullptr && value->boolean() != nullptr) return *value->boolean();
  report.report(part + "." + std::string(key), value == nullptr ? "" : value->excerpt(),
                "must be true or false");
  return std::nullopt;
}

std::optional<SplitBehavior> parse_behavior(std::string_view name) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous},
  };
  for (const auto& [known, behavior] : kBehaviors) {
    if (known == name) return behavior;
  }
  return std::nullopt;
}

void add_split(SplitRule rule, const std::string& part, FileReport& report, TokenizerFile& file) {
  if (file.splits.size() == kSplitCountMax) {
    report.report(part, "", "at most " + std::to_string(kSplitCountMax) + " splits are read");
    return;
  }
  file.splits.push_back(std::move(rule));
}

void read_split(const base::Json& json, const std::string& part, FileReport& report, TokenizerFile& file) {
  const base::Json* pattern = json.find("pattern");
  const base::Json* text = pattern == nullptr ? nullptr : pattern->find("Regex");
  const bool literal = text == nullptr;
  if (literal && pattern != nullptr) text = pattern->find("String");
  if (text == nullptr || text->string() == nullptr) {
    report.report(part + ".pattern", pattern == nullptr ? "" : pattern->excerpt(),
                  "must be {\"Regex\": text} or {\"String\": text}");
  }
  const base::Json* name = json.find("behavior");
  const auto behavior =
      name != nullptr && name->string() != nullptr ? parse_behavior(*name->string()) : std::nullopt;
  if (!behavior) {
    report.report(part + ".behavior", name == nullptr ? "" : name->excerpt(),
                  "must be one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
  }
  const auto invert = read_flag(json, "invert", part, report);
  if (text == nullptr || text->string() == nullptr || !behavior || !invert) return;
  add_split({.pattern = *text->string(), .literal = literal, .behavior = *behavior, .invert = *invert}, part,
            report, file);
}

void read_template_piece(const base::Json& piece, const std::string& part, const base::Json* specials,
                         FileReport& report, TokenizerFile& file, bool& behind_text) {
  if (const base::Json* sequence = piece.find("Sequence")) {
    const base::Json* id = sequence->find("id");
    const bool first = id != nullptr && id->string() != nullptr && *id->string() == "A" && !behind_text;
    if (!first)
      report.report(part, piece.excerpt(), "the template for one text must name the sequence \"A\" once");
    behind_text = true;
    return;
  }
  const base::Json* special = piece.find("SpecialToken");
  const base::Json* name = special == nullptr ? nullptr : special->find("id");
  if (name == nullptr || name->string() == nullptr) {
    report.report(part, piece.excerpt(), "must be a Sequence or a SpecialToken with an id");
    return;
  }
  const base::Json* entry = specials == nullptr ? nullptr : specials->find(*name->string());
  const base::Json* ids = entry == nullptr ? nullptr : entry->find("ids");
  if (ids == nullptr || ids->array() == nullptr) {
    report.report(part, quoted(*name->string()), "must have its ids in post_processor.special_tokens");
    return;
  }
  for (const base::Json& id : *ids->array()) {
    if (id.integer() == nullptr) continue;  // reported with the table itself
    (behind_text ? file.suffix : file.prefix).push_back(static_cast<base::TokenId>(*id.integer()));
  }
}

void read_template(const base::Json& json, const std::string& part, FileReport& report, TokenizerFile& file) {
  const base::Json* specials = json.find("special_tokens");
  if (specials != nullptr && specials->object() != nullptr) {
    for (const auto& [name, entry] : *specials->object()) {
      const base::Json* ids = entry.find("ids");
      if (ids == nullptr || ids->array() == nullptr) {
        report.report(part + ".special_tokens." + base::printable(name), entry.excerpt(),
                      "must have an array of ids");
        continue;
      }
      for (const base::Json& id : *ids->array()) {
        const std::int64_t* value = id.integer();
        const bool holds = value != nullptr && *value >= 0 &&
                           *value < static_cast<std::int64_t>(file.known.size()) &&
                           file.known[static_cast<std::size_t>(*value)];
        if (!holds)
          report.report(part + ".special_tokens." + base::printable(name) + ".ids", id.excerpt(),
                        "no token has this id");
      }
    }
  }
  const base::Json* single = json.find("single");
  if (single == nullptr || single->array() == nullptr) {
    report.report(part + ".single", single == nullptr ? "" : single->excerpt(), "must be an array");
    return;
  }
  bool behind_text = false;
  for (std::size_t i = 0; i < single->array()->size(); ++i) {
    read_template_piece((*single->array())[i], part + ".single[" + std::to_string(i) + "]", specials, report,
                        file, behind_text);
  }
  if (!behind_text)
    report.report(part + ".single", single->excerpt(),
                  "the template for one text must name the sequence \"A\" once");
}

// "model.vocab" of `model.vocab "abc"`, "post_processor.special_tokens" of
// "post_processor.special_tokens.x.ids".
std::string list_of(const std::string& part) {
  std::size_t end = std::min(part.find('['), part.find(' '));
  const std::size_t dot = part.find('.');
  if (dot != std::string::npos) end = std::min(end, part.find('.', dot + 1));
  return part.substr(0, end);
}

}  // namespace

void FileReport::report(const std::string& part, std::string found, std::string rule, std::string remedy) {
  ++count_;
  if (++counts_[list_of(part)] > kProblemsPerPart) return;
  inspector_.report({.field = source_ + ": " + part,
                     .found = std::move(found),
                     .rule = std::move(rule),
                     .remedy = std::move(remedy)});
}

bool FileReport::full(const std::string& list) {
  const auto entry = counts_.find(list);
  if (entry == counts_.end() || entry->second < kProblemsPerPart) return false;
  ++entry->second;
  ++count_;
  return true;
}

FileReport::~FileReport() {
  for (const auto& [part, count] : counts_) {
    if (count <= kProblemsPerPart) continue;
    inspector_.report({.field = source_ + ": " + part,
                       .found = "",
                       .rule = "has " + std::to_string(count) + " faults, of which the first " +
                               std::to_string(kProblemsPerPart) + " are listed",
                       .remedy = ""});
  }
}

void read_normalizer(const base::Json* json, FileReport& report, TokenizerFile& file) {
  if (is_absent(json)) return;
  walk(*json, "normalizer", "normalizers", 0, report,
       [&](const base::Json&, const std::string& type, const std::string& part) {
         if (type == "NFC") {
           file.nfc = true;
         } else {
           report.report(part, quoted(type), "is no normalizer that is known here (NFC, Sequence)",
                         "without it the ids would differ");
         }
       });
}

void read_pre_tokenizer(const base::Json* json, FileReport& report, TokenizerFile& file) {
  const std::size_t faults = report.count();
  bool byte_level = false;
  const auto visit = [&](const base::Json& step, const std::string& type, const std::string& part) {
    if (byte_level) return report.report(part, quoted(type), "nothing may follow ByteLevel");
    if (type == "Split") return read_split(step, part, report, file);
    if (type == "Digits") {
      const auto individual = read_flag(step, "individual_digits", part, report);
      const auto behavior = individual.value_or(true) ? SplitBehavior::Isolated : SplitBehavior::Contiguous;
      return add_split({.pattern = "\\p{N}", .literal = false, .behavior = behavior, .invert = false}, part,
                       report, file);
    }
    if (type != "ByteLevel") {
      return report.report(part, quoted(type),
                           "is no pre-tokenizer that is known here (Sequence, Split, Digits, ByteLevel)",
                           "without it the ids would differ");
    }
    byte_level = true;
    if (read_flag(step, "add_prefix_space", part, report).value_or(false)) {
      report.report(part + ".add_prefix_space", "true",
                    "must be false: a space before the text is not supported");
    }
    if (read_flag(step, "use_regex", part, report, true).value_or(false)) {
      add_split({.pattern = std::string(kByteLevelPattern),
                 .literal = false,
                 .behavior = SplitBehavior::Isolated,
                 .invert = false},
                part, report, file);
    }
  };
  if (!is_absent(json)) walk(*json, "pre_tokenizer", "pretokenizers", 0, report, visit);
  if (is_absent(json)) {
    report.report("pre_tokenizer", "", "is missing; it must end with ByteLevel");
  } else if (!byte_level && report.count() == faults) {  // a fault may have hidden it
    report.report("pre_tokenizer", "", "must end with ByteLevel: only byte-level BPE is supported");
  }
}

void read_post_processor(const base::Json* json, FileReport& report, TokenizerFile& file) {
  if (is_absent(json)) return;
  bool seen = false;
  walk(*json, "post_processor", "processors", 0, report,
       [&](const base::Json& step, const std::string& type, const std::string& part) {
         if (type == "ByteLevel") return;  // it moves offsets only
         if (type != "TemplateProcessing") {
           return report.report(
               part, quoted(type),
               "is no post-processor that is known here (Sequence, ByteLevel, TemplateProcessing)");
         }
         if (std::exchange(seen, true)) return report.report(part, quoted(type), "may stand there once");
         read_template(step, part, report, file);
       });
}

void check_decoder(const base::Json* json, FileReport& report) {
  if (is_absent(json)) return report.report("decoder", "", "is missing; it must be ByteLevel");
  walk(*json, "decoder", "decoders", 0, report,
       [&](const base::Json&, const std::string& type, const std::string& part) {
         if (type != "ByteLevel")
           report.report(part, quoted(type), "is no decoder that is known here (ByteLevel)");
       });
}

}  // namespace outrider::text
