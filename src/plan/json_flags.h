// JSON flags: one object of several uses, whole and dotted, merged in the order typed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/flags.h"
#include "plan/plan.h"

namespace outrider::plan {

// What cannot be read, a duplicate key, or a parent that is no object are problems of rule JSON.
class JsonFlags {
 public:
  JsonFlags(Engine engine, std::vector<Problem>& problems) : engine_(engine), problems_(problems) {}

  // All uses of a flag; nothing where there is none, or its text cannot be read.
  std::optional<Json> read(const base::FlagValues& values, std::string_view flag, const std::string& field);
  void merge(const base::FlagUse& use, const std::string& field, std::optional<Json>& merged);
  // A dotted use was seen: its text needs no quotes.
  bool loose() const { return loose_; }

 private:
  void problem(std::string field, std::string value, std::string message, std::string remedy);
  void merge_whole(const std::string& text, const std::string& field, std::optional<Json>& merged);
  void merge_dotted(const base::FlagUse& use, const std::string& field, std::optional<Json>& merged);
  void set_key(Json& tree, std::span<const std::string> keys, Json value, const std::string& field);
  void replace_last(Json& member, Json value, const std::string& path);

  Engine engine_;
  std::vector<Problem>& problems_;
  bool loose_ = false;
};

}  // namespace outrider::plan
