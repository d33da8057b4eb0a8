// outrider tokenize: text -> ids and pieces, ids -> text.
#include "cli/tokenize.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/inspector.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/open_tokenizer.h"

namespace outrider::cli {
namespace {

using base::FlagKind;
using base::Inspector;
using base::Json;
using base::TokenId;
using text::Tokenizer;

constexpr std::string_view kAbout =
    "Encodes text from stdin, or --text, with the tokenizer of a checkpoint's folder (or a tokenizer.json), "
    "or\n"
    "decodes ids. Prints ids as 1,2,3, as --decode and generate --prompt-ids read them. Pieces in JSON are "
    "the\n"
    "tokens as the vocabulary writes them: every byte as one printable character, a space as \u0120.";

// With --json-lines the ids come in the lines, so that --decode is a switch.
std::vector<base::Flag> flags_of(bool lines) {
  return {
      {.name = "--text",
       .kind = FlagKind::Text,
       .value_name = "TEXT",
       .help = "Text to encode; default: all of stdin, as it stands."},
      lines
          ? base::Flag{.name = "--decode",
                       .kind = FlagKind::Switch,
                       .value_name = "",
                       .help = "Decode the lines."}
          : base::
                Flag{.name = "--decode",
                     .kind = FlagKind::Text,
                     .value_name = "IDS",
                     .help =
                         "Decode these ids, as 1,2,3. With --json-lines without a value: decode the lines."},
      {.name = "--json",
       .kind = FlagKind::Switch,
       .value_name = "",
       .help = "Print {\"ids\":[],\"pieces\":[]}, or {\"text\":\"\"} with --decode."},
      {.name = "--json-lines",
       .kind = FlagKind::Switch,
       .value_name = "",
       .help = "Read one JSON string a line, or with --decode one list of ids ([1,2] or 1,2), and answer "
               "each with one object a line."},
      {.name = "--add-special-tokens",
       .kind = FlagKind::Switch,
       .value_name = "",
       .help = "Add the special tokens that the tokenizer's template puts around a text; default: no."},
      {.name = "--skip-special-tokens",
       .kind = FlagKind::Switch,
       .value_name = "",
       .help = "Leave special tokens out of decoded text; default: no."},
  };
}

struct Request {
  bool json, lines, decode, special, skip_special;
  std::optional<std::string> text, ids;
  std::string path;
};

Request read_request(std::span<const std::string> words, Inspector& inspector) {
  const bool lines = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--json-lines" || word == "--json_lines" || word == "--json-lines=true";
  });
  const auto values = base::parse_flags(words, flags_of(lines), inspector);
  const auto on = [&](const char* name) { return values.boolean(name).value_or(false); };
  Request request{.json = on("--json"),
                  .lines = lines,
                  .decode = values.has("--decode") && (!lines || on("--decode")),
                  .special = on("--add-special-tokens"),
                  .skip_special = on("--skip-special-tokens"),
                  .text = {},
                  .ids = {},
                  .path = {}};
  if (const std::string* text = values.text("--text")) request.text = *text;
  if (!lines && request.decode) request.ids = *values.text("--decode");
  const auto& positionals = values.positionals();
  inspector.require(positionals.size() == 1 && !positionals[0].empty(),
                    {.field = "DIR",
                     .found = base::list_names(positionals),
                     .rule = "one folder or tokenizer.json must be given",
                     .remedy = ""});
  if (!positionals.empty()) request.path = positionals[0];
  const auto exclude = [&](const char* flag, const char* other, bool both) {
    inspector.require(!both, {.field = flag,
                              .found = "",
                              .rule = std::string("cannot be used with ") + other,
                              .remedy = "drop one of the two"});
  };
  exclude("--text", "--json-lines", request.text && lines);
  exclude("--text", "--decode", request.text && request.decode);
  exclude("--add-special-tokens", "--decode", request.special && request.decode);
  exclude("--skip-special-tokens", "encoding; it needs --decode", request.skip_special && !request.decode);
  return request;
}

void check_id(const Tokenizer& tokenizer, const std::string& field, std::optional<std::int64_t> id,
              std::string_view found, std::vector<TokenId>& ids, Inspector& inspector) {
  const bool known = id && *id >= 0 && *id < tokenizer.id_count() && tokenizer.has(static_cast<TokenId>(*id));
  if (known) {
    ids.push_back(static_cast<TokenId>(*id));
  } else {
    inspector.report({.field = field,
                      .found = base::printable(found),
                      .rule = "must be the id of a token, an integer from 0 to " +
                              std::to_string(tokenizer.id_count() - 1),
                      .remedy = ""});
  }
}

// "1,2,3", spaces around an id allowed; nothing is no ids.
void parse_ids(const Tokenizer& tokenizer, const std::string& field, std::string_view list,
               std::vector<TokenId>& ids, Inspector& inspector) {
  if (list.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(" \t\r\n"), word.size()));
    word = word.substr(0, word.find_last_not_of(" \t\r\n") + 1);
    check_id(tokenizer, field, base::parse_integer(word), word, ids, inspector);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
}

int print_ids(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool json) {
  if (!json) {
    std::string text;
    for (const TokenId id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
    std::printf("%s\n", text.c_str());
    return kDone;
  }
  base::JsonWriter writer;
  writer.begin_object().key("ids").values(ids).key("pieces").begin_array();
  for (const TokenId id : ids) writer.value(tokenizer.piece(id));
  writer.end_array().end_object();
  std::printf("%s\n", writer.text().c_str());
  return kDone;
}

int print_text(const std::string& text, bool json) {
  if (json) {
    base::JsonWriter writer;
    writer.begin_object().key("text").value(text).end_object();
    std::printf("%s\n", writer.text().c_str());
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return kDone;
}

int run_text(const Tokenizer& tokenizer, const Request& request, std::string_view text) {
  const auto ids = tokenizer.encode(text, request.special);
  return ids.ok() ? print_ids(tokenizer, *ids, request.json) : print_refusal(ids.error());
}

// One line -> one answer; a problem names the line and ends the run, since answers behind it would be hard to
// match.
int run_line(const Tokenizer& tokenizer, const Request& request, const std::string& line,
             const std::string& place) {
  Inspector inspector;
  if (request.decode) {
    std::vector<TokenId> ids;
    if (line.find_first_not_of(" \t") != std::string::npos && line[line.find_first_not_of(" \t")] != '[') {
      parse_ids(tokenizer, place, line, ids, inspector);
    } else if (auto list = base::parse_json(line, place); !list.ok()) {
      inspector.report_all(std::move(list).error());
    } else {
      for (const Json& id : *list->array()) {
        check_id(tokenizer, place, id.integer() == nullptr ? std::nullopt : std::optional(*id.integer()),
                 id.excerpt(), ids, inspector);
      }
    }
    if (inspector.clean()) return print_text(tokenizer.decode(ids, request.skip_special), true);
  } else {
    const auto text = base::parse_json(line, place);
    if (!text.ok()) return print_refusal(text.error());
    if (text->string() != nullptr) {
      auto ids = tokenizer.encode(*text->string(), request.special);
      if (ids.ok()) return print_ids(tokenizer, *ids, true);
      for (base::Problem problem : ids.error().problems) {
        problem.field = place + ": " + problem.field;
        inspector.report(std::move(problem));
      }
    } else {
      inspector.report(
          {.field = place, .found = text->excerpt(), .rule = "must be a JSON string", .remedy = ""});
    }
  }
  return print_refusal(std::move(inspector).refuse());
}

int run_lines(const Tokenizer& tokenizer, const Request& request, std::istream& input) {
  std::string line;
  for (std::size_t number = 1; std::getline(input, line); ++number) {
    const int code = run_line(tokenizer, request, line, "line " + std::to_string(number));
    std::fflush(stdout);  // whoever writes the lines may wait for the answer
    if (code != kDone) return code;
  }
  return kDone;
}

}  // namespace

int run_tokenize(std::span<const std::string> words, std::istream& input) {
  if (printed_help(words, "tokenize DIR [flags]", kAbout, flags_of(false))) return kDone;
  Inspector inspector;
  const Request request = read_request(words, inspector);
  if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
  const auto tokenizer = open_tokenizer(request.path);
  if (!tokenizer.ok()) return print_refusal(tokenizer.error());
  if (request.lines) return run_lines(*tokenizer, request, input);
  if (request.ids) {
    std::vector<TokenId> ids;
    parse_ids(*tokenizer, "--decode", *request.ids, ids, inspector);
    if (!inspector.clean()) return print_refusal(std::move(inspector).refuse());
    return print_text(tokenizer->decode(ids, request.skip_special), request.json);
  }
  if (request.text) return run_text(*tokenizer, request, *request.text);
  const std::string all{std::istreambuf_iterator<char>(input), {}};
  return run_text(*tokenizer, request, all);
}

int run_tokenize(std::span<const std::string> words) {
  std::ios::sync_with_stdio(false);
  return run_tokenize(words, std::cin);
}

}  // namespace outrider::cli
