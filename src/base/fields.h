// One list of fields per struct. The list gives the struct its flags, help, JSON, printing, comparison and
// fingerprint, so that a new setting is one member and one line. A forgotten line does not compile: the
// members of the aggregate are counted and compared with the list (OUTRIDER_LISTS_EVERY_FIELD). What a field
// needs beside its name (a flag, a policy) is the list's `Note`, a type that the struct's module chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"

namespace outrider::base {

template <class Struct, class Member, class Note>
struct Field {
  std::string_view name;
  Member Struct::*member;
  Note note;
};

template <class Note, class Struct, class Member>
constexpr Field<Struct, Member, Note> field(std::string_view name, Member Struct::*member, Note note) {
  return {name, member, note};
}

// Specialised per struct: `static constexpr auto list = std::tuple{field("name", &Struct::name, Note{...}),
// ...};`
template <class Struct>
struct Fields;

// visit(field, value) for every field, in the list's order.
template <class Struct, class Visitor>
constexpr void for_each_field(Struct& object, Visitor&& visit) {
  std::apply([&](const auto&... entry) { (visit(entry, object.*(entry.member)), ...); },
             Fields<std::remove_const_t<Struct>>::list);
}

// --- counting the members of an aggregate ---
namespace detail {
struct Anything {
  template <class T>
  operator T() const;  // never defined: it stands for a value in unevaluated initialisers only
};
template <class Struct, class... Values>
constexpr std::size_t count_members() {
  if constexpr (requires { Struct{Values{}..., Anything{}}; }) {
    return count_members<Struct, Values..., Anything>();
  } else {
    return sizeof...(Values);
  }
}
}  // namespace detail

template <class Struct>
constexpr std::size_t member_count() {
  static_assert(std::is_aggregate_v<Struct>);
  return detail::count_members<Struct>();
}
template <class Struct>
constexpr std::size_t listed_count() {
  return std::tuple_size_v<std::remove_cvref_t<decltype(Fields<Struct>::list)>>;
}

// --- values as JSON, the common form of printing, comparison and fingerprint ---
inline Json json_of(bool value) { return Json(value); }
inline Json json_of(std::int64_t value) { return Json(value); }
inline Json json_of(int value) { return Json(std::int64_t{value}); }
inline Json json_of(double value) { return Json(value); }
inline Json json_of(const std::string& value) { return Json(value); }
inline Json json_of(const Json& value) { return value; }
template <class T>
Json json_of(const std::vector<T>& values);
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}
template <class T>
Json json_of(const std::vector<T>& values) {
  Json::Array array;
  array.reserve(values.size());
  for (const auto& value : values) array.push_back(json_of(value));
  return Json(std::move(array));
}

// FNV-1a, 64 bits, as 16 hexadecimal digits (Fowler, Noll, Vo; draft-eastlake-fnv).
std::string fingerprint_of(std::string_view bytes);

}  // namespace outrider::base

#define OUTRIDER_LISTS_EVERY_FIELD(Struct)                                                            \
  static_assert(::outrider::base::member_count<Struct>() == ::outrider::base::listed_count<Struct>(), \
                "a member of " #Struct " is missing in its list of fields")
