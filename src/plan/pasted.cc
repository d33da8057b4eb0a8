// Pasted command lines: variables in front, the program, and the words to judge.
#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "plan/command_line.h"

namespace outrider::plan {
namespace {

// A whole command line in one word, as a shell would part it: blanks, quotes, backslashes.
std::vector<std::string> split_shell(std::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool open = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      open = false;
      continue;
    }
    const bool escape = c == '\\' && quote != '\'' && i + 1 < line.size();
    if (escape && line[i + 1] == '\n') {
      ++i;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (escape) {
      words.back() += line[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

PastedCommand parse_pasted(std::span<const std::string> typed) {
  PastedCommand pasted;
  const bool one_word = typed.size() == 1 && typed[0].find(' ') != std::string::npos;
  const std::vector<std::string> words =
      one_word ? split_shell(typed[0]) : std::vector<std::string>(typed.begin(), typed.end());
  std::size_t at = 0;
  const auto is_assignment = [](const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || word.front() == '-') return false;
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  };
  while (at < words.size() &&
         (words[at] == "env" || words[at] == "export" || words[at] == "sudo" || is_assignment(words[at]))) {
    if (const std::size_t equals = words[at].find('='); equals != std::string::npos) {
      pasted.environment[words[at].substr(0, equals)] = words[at].substr(equals + 1);
    }
    ++at;
  }
  const auto starts_with = [&](std::initializer_list<std::string_view> program) {
    if (words.size() < at + program.size()) return false;
    return std::equal(program.begin(), program.end(), words.begin() + static_cast<std::ptrdiff_t>(at));
  };
  if (starts_with({"vllm", "serve"})) {
    at += 2;
  } else if (starts_with({"python", "-m", "vllm.entrypoints.openai.api_server"}) ||
             starts_with({"python3", "-m", "vllm.entrypoints.openai.api_server"})) {
    at += 3;
  } else if (starts_with({"outrider", "plan"}) || starts_with({"outrider", "serve"})) {
    pasted.engine = Engine::Outrider;
    at += 2;
  } else {
    const std::string found = at < words.size() ? base::printable(words[at]) : "";
    pasted.problems.push_back({.rule = "CLI",
                               .field = "flag:--",
                               .value = found,
                               .message = "the pasted command is not one that can be judged",
                               .remedy = "paste \"vllm serve MODEL ...\" or \"outrider plan ...\" behind --",
                               .reference = ""});
  }
  pasted.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return pasted;
}

}  // namespace outrider::plan
