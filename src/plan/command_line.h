// Words as people type them -> Intent, for our own commands and for pasted vLLM command lines: short forms,
// "--flag=value", underscores, "--no-" forms, dotted JSON keys, environment variables in front. Nothing is
// ignored: a word that is not known, a value of the wrong kind, a duplicate or unknown JSON key is a problem
// (rules CLI and JSON), and the rest is still read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/flags.h"
#include "plan/plan.h"

namespace outrider::plan {

using Environment = std::map<std::string, std::string>;

struct CommandLine {
  Intent intent;
  std::vector<Problem> problems;
  std::optional<std::string> eplb_path;  // --eplb-config named a file: for the caller to read
};

// `words`: without the program's name. Only the variables that vLLM's planner reads are looked at.
CommandLine parse_command_line(std::span<const std::string> words, Engine engine,
                               const Environment& environment);

// The flags of a plan, for --help.
std::vector<base::Flag> plan_flags();

// The flags of the same intent that a command of ours takes, to be parsed beside flags of its own; their JSON
// is left unread, for read_intent.
std::vector<base::Flag> intent_flags(Use use);
// The words that such flags were given, under our own rules. A command without a model leaves it empty.
CommandLine read_intent(const base::FlagValues& values, Use use);
// The keys of --speculative-config that a command takes, as lines of a help text.
std::string speculative_keys_help(Use use);

// A pasted command: variables in front, then the program. `rest` are the words behind it.
struct PastedCommand {
  Engine engine = Engine::Vllm;
  Environment environment;
  std::vector<std::string> rest;
  std::vector<Problem> faults;    // of the text; what it means is judged all the same
  std::vector<Problem> problems;  // it is no command that can be judged
};
PastedCommand parse_pasted(std::span<const std::string> words);

}  // namespace outrider::plan
