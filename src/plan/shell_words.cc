#include "plan/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace outrider::plan {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

class ShellText {
 public:
  explicit ShellText(std::string_view text) : text_(text) {}

  std::vector<std::vector<std::string>> split() && {
    for (at_ = 0; at_ < text_.size();) read_one();
    end_command();
    return std::move(commands_);
  }

 private:
  char here() const { return text_[at_]; }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void read_one() {
    if (quote_ == 0 && read_apart()) return;
    const bool escape = here() == '\\' && quote_ != '\'' && next() != '\0';
    if (escape && (next() == '\n' || next() == '\r')) {
      at_ += next() == '\r' && at_ + 2 < text_.size() && text_[at_ + 2] == '\n' ? 3 : 2;
      return;
    }
    if (here() == quote_) {
      quote_ = 0;
      ++at_;
    } else if (quote_ == 0 && (here() == '\'' || here() == '"')) {
      quote_ = here();
      open_word();
      ++at_;
    } else {
      open_word();
      // Between double quotes a backslash escapes quotes and backslashes only.
      const bool kept = escape && quote_ == '"' && next() != '"' && next() != '\\' && next() != '$';
      if (escape && !kept) ++at_;
      command_.back() += text_[at_++];
    }
  }

  // What parts words and commands; true where it was such.
  bool read_apart() {
    const char c = here();
    if (c == '#' && !open_) {
      while (at_ < text_.size() && here() != '\n') ++at_;
      return true;
    }
    if (c == '\n' || c == ';' || c == '|' || (c == '&' && !redirects())) {
      end_command();
      ++at_;
      return true;
    }
    if (c == '>' || (c == '&' && redirects())) {
      skip_redirection();
      return true;
    }
    if (!is_blank(c)) return false;
    open_ = false;
    ++at_;
    return true;
  }

  bool redirects() const { return next() == '>'; }

  // "> file", "2>&1", "&> file": not judged.
  void skip_redirection() {
    const bool numbered = open_ && (command_.back() == "1" || command_.back() == "2");
    if (numbered) command_.pop_back();
    open_ = false;
    while (at_ < text_.size() && (here() == '>' || here() == '&')) ++at_;
    while (at_ < text_.size() && (here() == ' ' || here() == '\t')) ++at_;
    while (at_ < text_.size() && !is_blank(here()) && here() != ';' && here() != '|') ++at_;
  }

  void open_word() {
    if (!open_) command_.emplace_back();
    open_ = true;
  }
  void end_command() {
    open_ = false;
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char quote_ = 0;
  bool open_ = false;
  std::vector<std::string> command_;
  std::vector<std::vector<std::string>> commands_;
};

constexpr std::array<std::string_view, 4> kCurlyDouble = {"\u201c", "\u201d", "\u201e", "\u201f"};
constexpr std::array<std::string_view, 4> kCurlySingle = {"\u2018", "\u2019", "\u201a", "\u201b"};

bool holds_any(std::string_view text, const std::array<std::string_view, 4>& marks) {
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::vector<std::string>> split_shell(std::string_view text) { return ShellText(text).split(); }

bool has_curly_quotes(std::string_view text) {
  return holds_any(text, kCurlyDouble) || holds_any(text, kCurlySingle);
}

std::string with_straight_quotes(std::string text) {
  // Curly quotes around an object were meant for the shell: they hold it together, and are none of it.
  const std::string_view open = "\u201c{", close = "}\u201d";
  if (text.starts_with(open) && text.ends_with(close)) {
    text = text.substr(open.size() - 1, text.size() - open.size() - close.size() + 2);
  }
  for (const std::string_view mark : kCurlyDouble) replace_all(text, mark, "\"");
  for (const std::string_view mark : kCurlySingle) replace_all(text, mark, "'");
  return text;
}

std::vector<std::string> mended_words(std::span<const std::string> words) {
  const bool parted = std::any_of(words.begin(), words.end(),
                                  [](const std::string& word) { return holds_any(word, kCurlySingle); });
  if (parted) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    std::vector<std::string> mended;
    for (const auto& command : split_shell(with_straight_quotes(line)))
      mended.insert(mended.end(), command.begin(), command.end());
    return mended;
  }
  std::vector<std::string> mended;
  for (const std::string& word : words) {
    std::string_view left = word;
    for (std::size_t at; (at = left.find("\\\n")) != std::string_view::npos; left = left.substr(at + 2)) {
      std::string_view part = left.substr(0, at);
      while (!part.empty() && is_blank(part.back())) part.remove_suffix(1);
      if (!part.empty()) mended.emplace_back(part);
    }
    const bool broken = left.size() != word.size();
    while (broken && !left.empty() && is_blank(left.front())) left.remove_prefix(1);
    const bool filler = left == "\\" || (!left.empty() && std::all_of(left.begin(), left.end(), is_blank));
    if (!filler && (!broken || !left.empty())) mended.push_back(with_straight_quotes(std::string(left)));
  }
  return mended;
}

}  // namespace outrider::plan
