// How things go wrong (docs/architecture.md, "Errors"). Input that is wrong gives a Refusal: every problem
// found, not the first. One that cannot be named by field and rule (a read that fails while running) gives an
// Error. A Result holds a value or one of the two; it must not be dropped.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"

namespace outrider::base {

// One thing that is wrong with what was asked or read.
struct Problem {
  std::string field;   // what the user typed or the file says: "--temperature", "config.json: hidden_size"
  std::string found;   // the value found, as text; may be empty where there is none
  std::string rule;    // what would have been right: "must be an integer above 0"
  std::string remedy;  // what to do; may be empty, never a lie

  friend bool operator==(const Problem&, const Problem&) = default;
};

// "field = found: rule; remedy", one line.
inline std::string to_string(const Problem& problem) {
  std::string line = problem.field;
  if (!problem.found.empty()) line += " = " + problem.found;
  line += ": " + problem.rule;
  if (!problem.remedy.empty()) line += "; " + problem.remedy;
  return line;
}

struct Refusal {
  std::vector<Problem> problems;  // never empty

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

inline Refusal refuse(Problem problem) { return Refusal{{std::move(problem)}}; }

// Every problem, one a line.
inline std::string to_string(const Refusal& refusal) {
  std::string text;
  for (const Problem& problem : refusal.problems) text += (text.empty() ? "" : "\n") + to_string(problem);
  return text;
}

// A failure while running: one sentence.
struct Error {
  std::string message;
};

template <class T, class E = Refusal>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(E error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return get(); }
  const T& value() const& { return const_cast<Result*>(this)->get(); }
  T&& value() && { return std::move(get()); }
  T& operator*() & { return get(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &value(); }

  const E& error() const& {
    OUTRIDER_CHECK(!ok());
    return *std::get_if<1>(&held_);
  }
  E&& error() && {
    OUTRIDER_CHECK(!ok());
    return std::move(*std::get_if<1>(&held_));
  }

 private:
  T& get() {
    OUTRIDER_CHECK_MSG(ok(), "value of a failed Result");
    return *std::get_if<0>(&held_);
  }
  std::variant<T, E> held_;
};

// A Result without a value.
struct Done {};

}  // namespace outrider::base

#define OUTRIDER_CONCAT_INNER(a, b) a##b
#define OUTRIDER_CONCAT(a, b) OUTRIDER_CONCAT_INNER(a, b)

// OUTRIDER_TRY(auto x, parse_x(...)): the value, or return the error to our own caller.
#define OUTRIDER_TRY(declaration, expression) \
  OUTRIDER_TRY_IMPL(OUTRIDER_CONCAT(try_result_, __LINE__), declaration, expression)
#define OUTRIDER_TRY_IMPL(name, declaration, expression) \
  auto name = (expression);                              \
  if (!name.ok()) return std::move(name).error();        \
  declaration = std::move(name).value()

// The same where there is no value to keep.
#define OUTRIDER_TRY_DONE(expression)                                 \
  do {                                                                \
    auto outrider_done = (expression);                                \
    if (!outrider_done.ok()) return std::move(outrider_done).error(); \
  } while (false)
