#include "text/tokenizer.h"

#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/inspector.h"
#include "base/strings.h"
#include "text/added_tokens.h"
#include "text/byte_alphabet.h"
#include "text/merge_table.h"
#include "text/splitter.h"
#include "text/stream.h"
#include "text/tokenizer_file.h"
#include "text/unicode.h"

namespace outrider::text {
namespace {

constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;
// The processor time that splitting a text may take: some hundred times what published patterns need.
constexpr double kSplitSeconds = 5, kSplitSecondsPerByte = 5e-6;
constexpr std::string_view kNoCharacter = "\xFF";

using base::TokenId;

}  // namespace

struct Tokenizer::Parts {
  std::string source;
  std::vector<std::string> pieces;                 // by id
  std::vector<std::string> bytes;                  // by id
  std::vector<bool> known, special;                // by id
  std::unordered_map<std::string, TokenId> ids;    // by piece
  std::unordered_map<std::string, TokenId> whole;  // by bytes; filled where a whole piece may skip the merges
  std::array<TokenId, 256> byte_tokens{};
  AddedTokenFinder raw, normalized;
  bool nfc = false;
  std::vector<Splitter> splits;
  MergeTable merges;
  std::vector<TokenId> prefix, suffix;
  NamedTokens named;

  void encode_piece(std::string_view piece, std::vector<TokenId>& symbols,
                    std::vector<TokenId>& ids_out) const {
    if (!whole.empty()) {
      const auto found = whole.find(std::string(piece));
      if (found != whole.end()) return ids_out.push_back(found->second);
    }
    symbols.clear();
    for (const char c : piece) symbols.push_back(byte_tokens[static_cast<unsigned char>(c)]);
    merges.merge(symbols, ids_out);
  }

  // Level by level, so that no match is under way while another one runs.
  base::Result<base::Done> encode_section(std::string_view section, SplitWorkspace& workspace,
                                          std::vector<TokenId>& ids_out) const {
    std::vector<std::string_view> stretches{section}, next;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      next.clear();
      for (const std::string_view piece : stretches) {
        const auto done = splits[i].split(piece, workspace, next);
        if (done.ok()) continue;
        return base::refuse({.field = source + ": pre_tokenizer, split " + std::to_string(i),
                             .found = "",
                             .rule = "the pattern " + done.error().message,
                             .remedy = ""});
      }
      stretches.swap(next);
    }
    std::vector<TokenId> symbols;
    for (const std::string_view piece : stretches) encode_piece(piece, symbols, ids_out);
    return base::Done{};
  }
};

base::Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, bool special) const {
  const auto refuse_text = [&](std::string found, std::string rule) {
    return base::refuse({.field = "text", .found = std::move(found), .rule = std::move(rule), .remedy = ""});
  };
  if (text.size() > kTextBytesMax) {
    return refuse_text(std::to_string(text.size()) + " bytes",
                       "at most " + std::to_string(kTextBytesMax) + " are encoded at once");
  }
  if (!base::is_utf8(text)) return refuse_text("", "must be UTF-8");
  std::vector<TokenId> ids;
  if (special) ids = parts_->prefix;
  SplitWorkspace workspace(kSplitSeconds + kSplitSecondsPerByte * static_cast<double>(text.size()));
  for (const Section& raw : parts_->raw.cut(text)) {
    if (raw.id) {
      ids.push_back(*raw.id);
      continue;
    }
    const std::string composed = parts_->nfc ? derive_nfc(raw.text) : std::string();
    for (const Section& section : parts_->normalized.cut(parts_->nfc ? composed : raw.text)) {
      if (section.id) {
        ids.push_back(*section.id);
      } else {
        OUTRIDER_TRY_DONE(parts_->encode_section(section.text, workspace, ids));
      }
    }
  }
  if (special) ids.insert(ids.end(), parts_->suffix.begin(), parts_->suffix.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  Utf8Stream characters;
  std::string text;
  for (const TokenId id : ids) {
    if (!(skip_special && is_special(id))) text += characters.push(bytes(id));
  }
  return text + characters.flush();
}

std::int32_t Tokenizer::id_count() const { return static_cast<std::int32_t>(parts_->known.size()); }

bool Tokenizer::has(TokenId id) const {
  return id >= 0 && id < id_count() && parts_->known[static_cast<std::size_t>(id)];
}

bool Tokenizer::is_special(TokenId id) const {
  return has(id) && parts_->special[static_cast<std::size_t>(id)];
}

std::string_view Tokenizer::piece(TokenId id) const {
  return has(id) ? std::string_view(parts_->pieces[static_cast<std::size_t>(id)]) : std::string_view();
}

std::string_view Tokenizer::bytes(TokenId id) const {
  return has(id) ? std::string_view(parts_->bytes[static_cast<std::size_t>(id)]) : kNoCharacter;
}

std::optional<TokenId> Tokenizer::find(std::string_view piece) const {
  const auto found = parts_->ids.find(std::string(piece));
  return found == parts_->ids.end() ? std::nullopt : std::optional(found->second);
}

const NamedTokens& Tokenizer::named() const { return parts_->named; }

namespace {

// A token is named by its content or by an object that has it.
std::optional<TokenId> read_named(const base::Json& config, std::string_view key, const std::string& source,
                                  const std::unordered_map<std::string, TokenId>& ids,
                                  base::Inspector& inspector) {
  const base::Json* value = config.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const base::Json* content = value->object() == nullptr ? value : value->find("content");
  const std::string* name = content == nullptr ? nullptr : content->string();
  const auto found = name == nullptr ? ids.end() : ids.find(*name);
  if (found != ids.end()) return found->second;
  inspector.report({.field = source + ": " + std::string(key),
                    .found = value->excerpt(),
                    .rule = "must be null or a token of tokenizer.json",
                    .remedy = ""});
  return std::nullopt;
}

NamedTokens read_config(const base::Json& config, const std::string& source,
                        const std::unordered_map<std::string, TokenId>& ids, base::Inspector& inspector) {
  NamedTokens named;
  if (config.object() == nullptr) {
    inspector.report({.field = source, .found = config.excerpt(), .rule = "must be an object", .remedy = ""});
    return named;
  }
  named.bos = read_named(config, "bos_token", source, ids, inspector);
  named.eos = read_named(config, "eos_token", source, ids, inspector);
  const base::Json* add_bos = config.find("add_bos_token");
  if (add_bos != nullptr && !add_bos->is_null()) {
    inspector.require(add_bos->boolean() != nullptr, {.field = source + ": add_bos_token",
                                                      .found = add_bos->excerpt(),
                                                      .rule = "must be true, false or null",
                                                      .remedy = ""});
    named.add_bos = add_bos->boolean() != nullptr && *add_bos->boolean();
  }
  return named;
}

std::vector<Splitter> compile_splits(const std::vector<SplitRule>& rules, const std::string& source,
                                     base::Inspector& inspector) {
  std::vector<Splitter> splits;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto split = Splitter::compile(rules[i]);
    if (split.ok()) {
      splits.push_back(std::move(split).value());
    } else {
      inspector.report({.field = source + ": pre_tokenizer, pattern of split " + std::to_string(i),
                        .found = "\"" + base::printable(rules[i].pattern) + "\"",
                        .rule = split.error().message,
                        .remedy = ""});
    }
  }
  return splits;
}

}  // namespace

base::Result<Tokenizer> parse_tokenizer(const base::Json& json, const std::string& source,
                                        const base::Json* config, const std::string& config_source) {
  base::Inspector inspector;
  auto parsed = parse_tokenizer_file(json, source);
  if (!parsed.ok()) return std::move(parsed).error();
  TokenizerFile& file = *parsed;
  const auto parts = std::make_shared<Tokenizer::Parts>();
  parts->source = source;
  parts->splits = compile_splits(file.splits, source, inspector);
  if (config != nullptr) parts->named = read_config(*config, config_source, file.ids, inspector);
  if (!inspector.clean()) return std::move(inspector).refuse();

  const std::size_t count = file.known.size();
  parts->special.assign(count, false);
  parts->bytes.reserve(count);
  // An added token is its own text, with one quirk of the library kept so that texts agree: one made of
  // letters of the byte alphabet alone is read as bytes, which changes it where they are not all ASCII.
  for (const std::string& piece : file.pieces) parts->bytes.push_back(alphabet_bytes(piece).value_or(piece));
  if (file.ignore_merges) {
    for (std::size_t id = 0; id < count; ++id) {
      if (!file.known[id] || !alphabet_bytes(file.pieces[id])) continue;
      parts->whole.emplace(parts->bytes[id], static_cast<TokenId>(id));
    }
  }
  std::vector<AddedToken> raw, normalized;
  for (AddedToken& token : file.added) {
    const auto index = static_cast<std::size_t>(token.id);
    parts->special[index] = token.special;
    if (token.normalized && file.nfc) token.content = derive_nfc(token.content);
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  parts->raw = AddedTokenFinder(std::move(raw));
  parts->normalized = AddedTokenFinder(std::move(normalized));
  for (int byte = 0; byte < 256; ++byte) {
    const auto letter = alphabet_letter(static_cast<unsigned char>(byte));
    parts->byte_tokens[static_cast<std::size_t>(byte)] = file.ids.at(letter);
  }
  parts->merges = MergeTable(file.merges, static_cast<std::int32_t>(count));
  parts->pieces = std::move(file.pieces);
  parts->known = std::move(file.known);
  parts->ids = std::move(file.ids);
  parts->nfc = file.nfc;
  parts->prefix = std::move(file.prefix);
  parts->suffix = std::move(file.suffix);
  return Tokenizer(parts);
}

}  // namespace outrider::text
