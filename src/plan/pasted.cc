// Pasted command lines: variables in front, the program, and the words to judge.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"
#include "plan/command_line.h"
#include "plan/shell_words.h"

namespace outrider::plan {
namespace {

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos || word.front() == '-') return false;
  return std::isdigit(static_cast<unsigned char>(word.front())) == 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}
bool is_python(std::string_view word) {
  const std::string_view name = last_part(word);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

// Words in front of a program that change nothing of what it is asked.
constexpr std::array<std::string_view, 10> kInFront = {"env",  "export", "sudo", "nohup", "time",
                                                       "exec", "uv",     "run",  "uvx",   "$"};

class CommandWords {
 public:
  CommandWords(std::span<const std::string> words, PastedCommand& pasted) : words_(words), pasted_(pasted) {}

  // True where the words are a command that can be judged.
  bool read() {
    while (at_ < words_.size() && is_in_front(words_[at_])) ++at_;
    if (follows({"docker", "run"}) || follows({"podman", "run"})) return read_container();
    if (!read_program()) return false;
    pasted_.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
    return true;
  }
  std::string first() const { return at_ < words_.size() ? base::printable(words_[at_]) : ""; }

 private:
  bool follows(std::initializer_list<std::string_view> program) const {
    if (words_.size() < at_ + program.size()) return false;
    return std::equal(program.begin(), program.end(), words_.begin() + static_cast<std::ptrdiff_t>(at_),
                      [](std::string_view name, const std::string& word) { return last_part(word) == name; });
  }

  bool is_in_front(const std::string& word) {
    if (is_assignment(word)) {
      const std::size_t equals = word.find('=');
      pasted_.environment[word.substr(0, equals)] = word.substr(equals + 1);
      return true;
    }
    return std::find(kInFront.begin(), kInFront.end(), word) != kInFront.end();
  }

  bool read_program() {
    if (follows({"vllm", "serve"})) {
      at_ += 2;
    } else if (at_ + 2 < words_.size() && is_python(words_[at_]) && words_[at_ + 1] == "-m") {
      at_ += 2;
      if (words_[at_] == "vllm.entrypoints.openai.api_server") {
        at_ += 1;
      } else if (at_ + 1 < words_.size() && words_[at_].starts_with("vllm") && words_[at_ + 1] == "serve") {
        at_ += 2;
      } else {
        return false;
      }
    } else if (follows({"outrider", "plan"}) || follows({"outrider", "serve"})) {
      pasted_.engine = Engine::Outrider;
      at_ += 2;
    } else {
      return false;
    }
    return true;
  }

  // vLLM's image starts its server: what follows its name are the server's words.
  bool read_container() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      const bool variable = (word == "-e" || word == "--env") && at_ + 1 < words_.size();
      if (variable && is_assignment(words_[at_ + 1])) {
        is_in_front(words_[++at_]);
      } else if (word.find("vllm-openai") != std::string::npos && !word.starts_with("-")) {
        ++at_;
        if (follows({"vllm", "serve"})) at_ += 2;
        pasted_.rest.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        return true;
      }
    }
    return false;
  }

  std::span<const std::string> words_;
  PastedCommand& pasted_;
  std::size_t at_ = 0;
};

// Told once for a command, at the last flag in front of them.
void tell_curly_quotes(std::span<const std::string> typed, std::vector<Problem>& problems) {
  std::string line;
  for (const std::string& word : typed) line += word + " ";
  if (!has_curly_quotes(line)) return;
  const std::size_t quote = line.find("\xe2\x80");
  const std::size_t dash = line.substr(0, quote).rfind(" -");
  const std::string flag =
      dash == std::string::npos ? "" : line.substr(dash + 1, line.find(' ', dash + 1) - dash - 1);
  const bool drafter = flag == "-sc" || flag.starts_with("--speculative");
  problems.push_back(
      {.rule = drafter ? "JSON" : "CLI",
       .field = drafter ? "speculative_config" : "flag:" + base::printable(flag.substr(0, flag.find('='))),
       .value = base::printable(line.substr(quote), 60),
       .message = "the text has typographic quotes, which neither a shell nor JSON knows",
       .remedy = "write straight quotes: ' and \"",
       .reference = ""});
}

}  // namespace

PastedCommand parse_pasted(std::span<const std::string> typed) {
  PastedCommand pasted;
  tell_curly_quotes(typed, pasted.faults);
  const bool one_word = typed.size() == 1 && typed[0].find_first_of(" \n\t") != std::string::npos;
  std::vector<std::vector<std::string>> commands;
  if (one_word) {
    commands = split_shell(with_straight_quotes(typed[0]));
  } else {
    commands.push_back(mended_words(typed));
  }
  std::string found;
  for (const std::vector<std::string>& words : commands) {
    CommandWords command(words, pasted);
    if (command.read()) return pasted;
    if (found.empty()) found = command.first();
  }
  const bool trtllm = last_part(found) == "trtllm-serve";
  pasted.problems.push_back(
      {.rule = "CLI",
       .field = "flag:--",
       .value = found,
       .message = "the pasted command is not one that can be judged",
       .remedy = trtllm ? "write it with the flags of \"outrider plan --as trtllm\""
                        : "paste \"vllm serve MODEL ...\" or \"outrider plan ...\" behind --",
       .reference = ""});
  return pasted;
}

}  // namespace outrider::plan
