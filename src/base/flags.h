// Command-line words -> flag values, from a table of flags; every problem is reported, not the first. As
// vLLM's users type them: "--flag value", "--flag=value", underscores for dashes, "--no-flag" for a switch,
// dotted JSON keys
// ("--speculative-config.method dspark", also "--flag.a.b 3", the value read as JSON where it is JSON, else
// as text). What a value means is left to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inspector.h"
#include "base/json.h"

namespace outrider::base {

enum class FlagKind { Switch, Text, Integer, Number, Json };

struct Flag {
  std::string name;  // with dashes: "--max-tokens"
  FlagKind kind;
  std::string value_name;  // for the help: "TEXT"; empty for a switch
  std::string help;        // one sentence, with the default
  bool repeatable = false;
  std::vector<std::string> short_names = {};  // "-tp"
  bool many = false;                          // takes all words up to the next flag, one use each
  bool apart = false;                         // its JSON is left unread, as with FlagOptions::json_apart
  bool negatable = true;                      // a switch that has a "--no-" form
  bool bare_too = false;                      // takes a value or none; without one its value is "true"
};

// One use on the command line; `value` is the text as typed ("true" / "false" for a switch).
struct FlagUse {
  std::string name;
  std::string value;
  std::vector<std::string> keys = {};  // of a dotted JSON use; only with `json_apart`
};

// A word that looks like a flag and is none; what follows it was its value, as far as one can tell.
struct UnknownFlag {
  std::string word;  // as typed, without "=value"
  std::optional<std::string> value;
  std::string nearest;  // the nearest known name, or empty
};

// How commands that judge other programs' command lines differ from our own.
struct FlagOptions {
  bool unknown_apart = false;  // unknown flags are kept in unknown(), not reported
  bool last_counts = false;    // a flag given twice is no problem: the last use counts, as in argparse
  bool json_apart = false;  // the text of JSON flags is left unread: uses() has every use, dotted keys apart
  bool bare_switches = false;  // a switch takes no "=value", as in argparse
};

class FlagValues {
 public:
  bool has(std::string_view name) const { return last(name) != nullptr; }
  // Null or empty where the flag was not given; the last use counts. Kinds were checked while parsing.
  const std::string* text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  const Json* json(std::string_view name) const;              // dotted uses merged in
  const std::vector<FlagUse>& uses() const { return uses_; }  // in the order typed, dotted JSON uses left out
  const std::vector<std::string>& positionals() const { return positionals_; }
  const std::vector<UnknownFlag>& unknown() const { return unknown_; }

 private:
  friend class FlagReader;
  const FlagUse* last(std::string_view name) const;
  std::vector<FlagUse> uses_;
  std::vector<std::pair<std::string, Json>> json_;
  std::vector<std::string> positionals_;
  std::vector<UnknownFlag> unknown_;
};

// Words that are no flags are positionals, for the caller to judge. Problems go to `inspector`.
FlagValues parse_flags(std::span<const std::string> words, std::span<const Flag> flags, Inspector& inspector,
                       const FlagOptions& options = {});

// The flags as the lines of a help text, 100 columns.
std::string help_text(std::span<const Flag> flags);

// The known name nearest to an unknown one, or empty if none is near.
std::string nearest_name(std::string_view unknown, std::span<const Flag> flags);

// Whole-text reading of numbers: no leading space, no rest, finite.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace outrider::base
