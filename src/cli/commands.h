// The table of commands: one row each, in the order of the help.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cli/command.h"

namespace outrider::cli {

int run_bench(std::span<const std::string> words);
int run_generate(std::span<const std::string> words);
int run_plan(std::span<const std::string> words);
int run_inspect(std::span<const std::string> words);
int run_quantize(std::span<const std::string> words);
int run_tokenize(std::span<const std::string> words);
int run_version(std::span<const std::string> words);

// The words of a command line, without the program's name -> exit code.
int run_program(const std::vector<std::string>& words);

inline constexpr std::array kCommands = {
    Command{"generate", "write text from prompts, with or without a drafter", run_generate},
    Command{"plan", "what would run, or every reason why not; judges vLLM command lines too", run_plan},
    Command{"bench", "how fast a model runs here, against the machine's limits", run_bench},
    Command{"inspect", "what a checkpoint holds, tensor by tensor", run_inspect},
    Command{"tokenize", "text to token ids and back", run_tokenize},
    Command{"quantize", "weights to 8 or 4 bits, in the form that loads by mapping", run_quantize},
    Command{"version", "print the version", run_version},
};

}  // namespace outrider::cli
