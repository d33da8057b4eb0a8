#include "text/tokenizer_file.h"

#include <optional>

#include "base/inspector.h"
#include "base/strings.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer_parts.h"

namespace outrider::text {
namespace {

constexpr std::size_t kMergeCountMax = 4'000'000;
constexpr std::size_t kAddedBytesMax = 1024;
// Published vocabularies have gaps; a table by id must still stay near the number of tokens.
constexpr std::size_t kGapMax = 65536;
constexpr base::TokenId kFaulty = -1;

std::string quoted(std::string_view text) { return "\"" + base::printable(text) + "\""; }
std::string found_of(const base::Json* json) { return json == nullptr ? "" : json->excerpt(); }
std::string at(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

class FileReader {
 public:
  FileReader(const base::Json& json, const std::string& source, base::Inspector& inspector)
      : json_(json), report_(source, inspector) {}

  TokenizerFile run() {
    const base::Json* version = json_.find("version");
    if (version != nullptr && (version->string() == nullptr || *version->string() != "1.0")) {
      report_.report("version", version->excerpt(), "must be \"1.0\"");
    }
    const base::Json* model = json_.find("model");
    if (model == nullptr || model->object() == nullptr) {
      report_.report("model", found_of(model), "must be an object");
    } else if (check_kind(*model)) {
      // In this order: bytes, merges and options may name tokens of the vocabulary only, not added ones.
      read_vocab(*model);
      check_bytes();
      read_merges(*model);
      check_options(*model);
    }
    read_added();
    read_normalizer(json_.find("normalizer"), report_, file_);
    read_pre_tokenizer(json_.find("pre_tokenizer"), report_, file_);
    read_post_processor(json_.find("post_processor"), report_, file_);
    check_decoder(json_.find("decoder"), report_);
    return std::move(file_);
  }

 private:
  bool check_kind(const base::Json& model) {
    const base::Json* type = model.find("type");
    if (type != nullptr && type->string() != nullptr && *type->string() == "BPE") return true;
    report_.report("model.type", found_of(type), "must be \"BPE\": only byte-level BPE is supported");
    return false;
  }

  std::size_t id_limit(std::size_t count) const { return 2 * count + kGapMax; }

  // Enters a token under its id; false if the id is out of range or another token's. The name is then known
  // with the id kFaulty, so that one fault is not told twice.
  bool enter(const std::string& content, const base::Json* id, const std::string& part) {
    const std::int64_t* value = id == nullptr ? nullptr : id->integer();
    const auto who = [&] { return part + " " + quoted(content); };
    const auto named = file_.ids.emplace(content, kFaulty).first;
    if (value == nullptr || *value < 0) {
      report_.report(who(), found_of(id), "an id must be an integer from 0");
      return false;
    }
    if (static_cast<std::uint64_t>(*value) >= id_limit_) {
      report_.report(who(), std::to_string(*value),
                     "an id must lie near the number of tokens, below " + std::to_string(id_limit_));
      return false;
    }
    const auto index = static_cast<std::size_t>(*value);
    if (index >= file_.known.size()) {
      file_.known.resize(index + 1);
      file_.pieces.resize(index + 1);
    }
    if (file_.known[index]) {
      report_.report(who(), std::to_string(*value),
                     "is the id of " + quoted(file_.pieces[index]) + " too; an id must have one token");
      return false;
    }
    file_.known[index] = true;
    file_.pieces[index] = content;
    named->second = static_cast<base::TokenId>(index);
    return true;
  }

  void read_vocab(const base::Json& model) {
    const base::Json* vocab = model.find("vocab");
    const base::Json* added = json_.find("added_tokens");
    if (vocab == nullptr || vocab->object() == nullptr) {
      report_.report("model.vocab", found_of(vocab), "must be an object of tokens and their ids");
      return;
    }
    const std::size_t added_count =
        added != nullptr && added->array() != nullptr ? added->array()->size() : 0;
    id_limit_ = id_limit(vocab->object()->size() + added_count);
    file_.ids.reserve(vocab->object()->size() + added_count);
    const std::string part = "model.vocab";
    for (const auto& [content, id] : *vocab->object()) enter(content, &id, part);
  }

  bool read_flag(const base::Json& token, std::string_view key, const std::string& part) {
    const base::Json* flag = token.find(key);
    if (flag != nullptr && flag->boolean() != nullptr) return *flag->boolean();
    report_.report(part + "." + std::string(key), found_of(flag), "must be true or false");
    return false;
  }

  void read_added() {
    const base::Json* list = json_.find("added_tokens");
    if (list == nullptr || list->is_null()) return;
    if (list->array() == nullptr) return report_.report("added_tokens", list->excerpt(), "must be an array");
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < list->array()->size(); ++i) {
      const base::Json& token = (*list->array())[i];
      const base::Json* content = token.find("content");
      const base::Json* id = token.find("id");
      if (content == nullptr || content->string() == nullptr) {
        report_.report(at("added_tokens", i) + ".content", found_of(content), "must be a string");
        continue;
      }
      const std::string& text = *content->string();
      if (text.empty() || text.size() > kAddedBytesMax) {
        report_.report(at("added_tokens", i) + ".content (id " + found_of(id) + ")", quoted(text),
                       "must have 1 to " + std::to_string(kAddedBytesMax) +
                           " bytes; an empty one would match everywhere");
        continue;
      }
      if (!seen.emplace(text, i).second) {
        report_.report(at("added_tokens", i), quoted(text), "is listed twice");
        continue;
      }
      read_added_token(token, text, id, at("added_tokens", i));
    }
  }

  void read_added_token(const base::Json& token, const std::string& text, const base::Json* id,
                        const std::string& part) {
    const auto in_vocab = file_.ids.find(text);
    if (in_vocab != file_.ids.end()) {
      if (id == nullptr || id->integer() == nullptr || *id->integer() != in_vocab->second) {
        report_.report(part + " " + quoted(text), found_of(id),
                       "has the id " + std::to_string(in_vocab->second) + " in model.vocab");
        return;
      }
    } else if (!enter(text, id, part)) {
      return;
    }
    const std::string who = part + " " + quoted(text);
    file_.added.push_back({.id = static_cast<base::TokenId>(*id->integer()),
                           .content = text,
                           .special = read_flag(token, "special", who),
                           .normalized = read_flag(token, "normalized", who),
                           .lstrip = read_flag(token, "lstrip", who),
                           .rstrip = read_flag(token, "rstrip", who),
                           .single_word = read_flag(token, "single_word", who)});
  }

  void check_bytes() {
    std::vector<std::string> missing;
    for (int byte = 0; byte < 256; ++byte) {
      if (file_.ids.count(alphabet_letter(static_cast<unsigned char>(byte))) != 0) continue;
      constexpr char kHex[] = "0123456789ABCDEF";
      missing.push_back({'0', 'x', kHex[byte >> 4], kHex[byte & 15]});
    }
    if (missing.empty()) return;
    report_.report("model.vocab", "",
                   "must hold a token for each of the 256 bytes; missing: " + base::list_names(missing));
  }

  void read_merges(const base::Json& model) {
    const base::Json* merges = model.find("merges");
    if (merges == nullptr || merges->array() == nullptr) {
      return report_.report("model.merges", found_of(merges), "must be an array");
    }
    if (merges->array()->size() > kMergeCountMax) {
      return report_.report("model.merges", std::to_string(merges->array()->size()) + " entries",
                            "at most " + std::to_string(kMergeCountMax) + " are read");
    }
    file_.merges.reserve(merges->array()->size());
    std::unordered_map<std::uint64_t, std::size_t> seen;
    seen.reserve(merges->array()->size());
    for (std::size_t i = 0; i < merges->array()->size(); ++i) {
      const base::Json& merge = (*merges->array())[i];
      const auto rule = parse_merge(merge, i);
      if (!rule) continue;
      const std::uint64_t pair =
          static_cast<std::uint64_t>(rule->left) << 32 | static_cast<std::uint64_t>(rule->right);
      const auto [first, fresh] = seen.emplace(pair, i);
      if (!fresh) {
        if (report_.full("model.merges")) continue;
        report_.report(at("model.merges", i), merge.excerpt(),
                       "is the merge of place " + std::to_string(first->second) + " again");
        continue;
      }
      file_.merges.push_back(*rule);
    }
  }

  std::optional<MergeRule> parse_merge(const base::Json& merge, std::size_t index) {
    std::string left, right;
    if (const std::string* text = merge.string()) {
      const std::size_t space = text->find(' ');
      if (space != std::string::npos && text->find(' ', space + 1) == std::string::npos) {
        left = text->substr(0, space);
        right = text->substr(space + 1);
      }
    } else if (const base::Json::Array* pair = merge.array(); pair != nullptr && pair->size() == 2) {
      if ((*pair)[0].string() != nullptr && (*pair)[1].string() != nullptr) {
        left = *(*pair)[0].string();
        right = *(*pair)[1].string();
      }
    }
    const auto refuse = [&](std::string rule) {
      if (!report_.full("model.merges"))
        report_.report(at("model.merges", index), merge.excerpt(), std::move(rule));
    };
    if (left.empty() || right.empty()) {
      refuse("must be two tokens, \"a b\" or [\"a\", \"b\"], neither of them empty");
      return std::nullopt;
    }
    bool whole = true;
    const auto look_up = [&](const std::string& token) {
      const auto found = file_.ids.find(token);
      if (found == file_.ids.end()) refuse(quoted(token) + " is not in the vocabulary");
      const bool known = found != file_.ids.end() && found->second != kFaulty;
      whole = whole && known;
      return known ? found->second : kFaulty;
    };
    const MergeRule ids{.left = look_up(left), .right = look_up(right), .result = look_up(left + right)};
    return whole ? std::optional(ids) : std::nullopt;
  }

  // Options of the model that change ids. `fuse_unk` does nothing where every byte has a token.
  void check_options(const base::Json& model) {
    for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const base::Json* affix = model.find(key);
      const bool none =
          affix == nullptr || affix->is_null() || (affix->string() != nullptr && affix->string()->empty());
      if (!none)
        report_.report("model." + std::string(key), affix->excerpt(),
                       "must be null or empty in byte-level BPE");
    }
    const base::Json* dropout = model.find("dropout");
    if (dropout != nullptr && !dropout->is_null() && dropout->number() != 0.0) {
      report_.report("model.dropout", dropout->excerpt(), "must be null or 0: merges are never dropped here");
    }
    const base::Json* unknown = model.find("unk_token");
    if (unknown != nullptr && !unknown->is_null() &&
        (unknown->string() == nullptr || file_.ids.count(*unknown->string()) == 0)) {
      report_.report("model.unk_token", unknown->excerpt(), "must be null or a token of the vocabulary");
    }
    for (const std::string_view key : {"ignore_merges", "byte_fallback"}) {
      const base::Json* flag = model.find(key);
      if (flag == nullptr || flag->is_null()) continue;
      if (flag->boolean() == nullptr) {
        report_.report("model." + std::string(key), flag->excerpt(), "must be true or false");
      } else if (key == "ignore_merges") {
        file_.ignore_merges = *flag->boolean();
      } else if (*flag->boolean()) {
        report_.report("model.byte_fallback", "true", "must be false in byte-level BPE");
      }
    }
  }

  const base::Json& json_;
  FileReport report_;
  TokenizerFile file_;
  std::size_t id_limit_ = kGapMax;
};

}  // namespace

base::Result<TokenizerFile> parse_tokenizer_file(const base::Json& json, const std::string& source) {
  base::Inspector inspector;
  TokenizerFile file = FileReader(json, source, inspector).run();
  if (!inspector.clean()) return std::move(inspector).refuse();
  return file;
}

}  // namespace outrider::text
