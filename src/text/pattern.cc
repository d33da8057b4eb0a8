#include "text/pattern.h"

#include <cctype>

namespace outrider::text {
namespace {

// White_Space as class members. PCRE2's own \s also holds U+180E.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNoSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

// Oniguruma's word characters as class members; PCRE2's own \w is narrower: letters, numbers, and the
// underscore alone.
constexpr std::string_view kWords = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : rest_(pattern) {}

  base::Result<std::string, base::Error> run() {
    if (take("(?i)")) out_ += "(?i)";  // at the very start the two dialects agree on its reach
    while (!rest_.empty() && fault_.empty()) step();
    if (!fault_.empty()) return base::Error{fault_};
    return std::move(out_);
  }

 private:
  bool starts(std::string_view text) const { return rest_.substr(0, text.size()) == text; }
  bool take(std::string_view text) {
    if (!starts(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void copy(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }
  void refuse(std::string_view what) { fault_ = std::string(what); }

  void step() {
    switch (rest_[0]) {
      case '\\':
        return escape(false);
      case '[':
        return open_class();
      case '(':
        return open_group();
      case '{':
        return interval();
      default:
        copy(1);
    }
  }

  void open_group() {
    if (starts("(*")) return refuse("a group that starts with (* is not supported");
    if (!starts("(?")) return copy(1);
    for (const std::string_view head : {"(?:", "(?i:", "(?-i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (starts(head)) return copy(head.size());
    }
    refuse(
        "of the groups that start with (? only (?: (?i: (?-i: (?= (?! (?<= (?<! (?> are supported, and (?i) "
        "at the very start");
  }

  // {2}, {2,}, {2,5}, {,5}; the last one is plain text to PCRE2 10.42.
  void interval() {
    std::size_t i = 1;
    while (i < rest_.size() && is_digit(rest_[i])) ++i;
    const bool from = i > 1, comma = i < rest_.size() && rest_[i] == ',';
    const std::size_t second = comma ? i + 1 : i;
    for (i = second; i < rest_.size() && is_digit(rest_[i]);) ++i;
    const bool to = i > second && comma;
    if (i >= rest_.size() || rest_[i] != '}' || !(from || to))
      return refuse("a { that starts no repeat must be written \\{");
    const char behind = i + 1 < rest_.size() ? rest_[i + 1] : ' ';
    if (behind == '+' || (behind == '?' && !comma))
      return refuse("a repeat {...} followed by + (or {n} by ?) is not supported");
    if (from) return copy(i + 1);
    out_ += "{0" + std::string(rest_.substr(1, i));
    rest_.remove_prefix(i + 1);
  }

  void open_class() {
    copy(1);
    if (starts("^")) copy(1);
    if (starts("]")) return refuse("a ] right behind [ must be written \\]");
    while (fault_.empty() && !starts("]")) {
      if (rest_.empty()) return refuse("a class [ is not closed");
      if (starts("["))
        return refuse("a [ inside a class must be written \\[; classes inside classes are not supported");
      if (starts("&&")) return refuse("&& inside a class is not supported");
      if (starts("\\")) {
        escape(true);
      } else {
        copy(1);
      }
    }
    if (fault_.empty()) copy(1);
  }

  void escape(bool in_class) {
    if (rest_.size() < 2) return refuse("a \\ ends the pattern");
    const char letter = rest_[1];
    if (letter == 's' || letter == 'S') {
      const bool wanted = letter == 's';
      if (in_class) {
        out_ += wanted ? kSpaces : kNoSpaces;
      } else {
        out_ += std::string(wanted ? "[" : "[^") + std::string(kSpaces) + "]";
      }
      rest_.remove_prefix(2);
      return;
    }
    if (letter == 'w' || (letter == 'W' && !in_class)) {
      out_ += in_class ? std::string(kWords) : (letter == 'w' ? "[" : "[^") + std::string(kWords) + "]";
      rest_.remove_prefix(2);
      return;
    }
    if (letter == 'p' || letter == 'P') return property();
    if (letter == 'x' || letter == 'u') return code_point();
    if (letter == 'v') {  // one character here, a class to PCRE2
      out_ += "\\x{b}";
      rest_.remove_prefix(2);
      return;
    }
    const bool alone = std::isalnum(static_cast<unsigned char>(letter)) == 0;
    const std::string_view plain = in_class ? "tnrfaedD" : "tnrfaedDAzZ";
    if (alone || plain.find(letter) != std::string_view::npos) {
      // An escaped character of several bytes is that character: the rest of it follows as plain text.
      return copy(2);
    }
    refuse(std::string("the escape \\") + letter + " is not supported");
  }

  // \xHH, \x{H...}, \uHHHH
  void code_point() {
    const bool braces = rest_.size() > 2 && rest_[1] == 'x' && rest_[2] == '{';
    const std::size_t start = braces ? 3 : 2, digits_max = braces ? 6 : rest_[1] == 'u' ? 4 : 2;
    std::size_t end = start;
    while (end < rest_.size() && end - start < digits_max && is_hex(rest_[end])) ++end;
    const bool closed = !braces || (end < rest_.size() && rest_[end] == '}');
    if (end == start || !closed || (rest_[1] == 'u' && end - start != 4))
      return refuse("a code point is \\xHH, \\x{H...} or \\uHHHH");
    out_ += "\\x{" + std::string(rest_.substr(start, end - start)) + "}";
    rest_.remove_prefix(end + (braces ? 1 : 0));
  }

  // Categories (\p{L}, \p{Lu}) mean the same; a longer name is a script, which PCRE2 would extend by shared
  // characters.
  void property() {
    const std::size_t end = rest_.find('}');
    if (rest_.size() < 4 || rest_[2] != '{' || end == std::string_view::npos)
      return refuse("a property is \\p{...}");
    std::string_view name = rest_.substr(3, end - 3);
    bool negated = rest_[1] == 'P';
    if (!name.empty() && name[0] == '^') {
      negated = !negated;
      name.remove_prefix(1);
    }
    for (const char c : name) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_')
        return refuse("a property is \\p{...}");
    }
    if (name.empty()) return refuse("a property is \\p{...}");
    out_ +=
        std::string(negated ? "\\P{" : "\\p{") + (name.size() <= 2 ? "" : "sc:") + std::string(name) + "}";
    rest_.remove_prefix(end + 1);
  }

  std::string_view rest_;
  std::string out_;
  std::string fault_;
};

}  // namespace

base::Result<std::string, base::Error> parse_pattern(std::string_view pattern) {
  return Rewriter(pattern).run();
}

}  // namespace outrider::text
