// Reads one JSON object of a config strictly and collects every fault: key, value found, what is allowed. A
// faulty or missing value gives a stand-in within its bounds, so that reading goes on and the list is
// complete; the caller refuses if the inspector is not clean. JSON's null counts as absent where a key is
// optional.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inspector.h"
#include "base/json.h"

namespace outrider::checkpoint {

// Bounds of what a config may ask for, checked before anything is allocated: far above every published model,
// far below harm.
inline constexpr std::int64_t kLayersMax = 1024;
inline constexpr std::int64_t kWidthMax = std::int64_t{1} << 20;  // hidden, head, feed-forward, rank
inline constexpr std::int64_t kHeadsMax = 4096;
inline constexpr std::int64_t kVocabularyMax = std::int64_t{1} << 24;
inline constexpr std::int64_t kPositionsMax = std::int64_t{1} << 30;
inline constexpr std::int64_t kExpertsMax = 8192;
inline constexpr std::int64_t kExpertTensorsMax = std::int64_t{1} << 20;  // layers x experts
inline constexpr std::int64_t kBlockMax = 256;                            // slots of a draft block
inline constexpr std::int64_t kListMax = 4096;                            // entries of a list

class ConfigReader {
 public:
  // `place` stands before the key in messages: "config.json: ", "config.json: text_config.".
  // `sizes_only`: what no size depends on (rotary base, norm epsilon) may be absent.
  ConfigReader(const base::Json& object, std::string place, base::Inspector& inspector,
               bool sizes_only = false)
      : object_(&object), place_(std::move(place)), inspector_(&inspector), sizes_only_(sizes_only) {}

  const base::Json* find(std::string_view key) const;  // null where absent or JSON's null
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const base::Json& json() const { return *object_; }
  const std::string& place() const { return place_; }
  base::Inspector& inspector() const { return *inspector_; }
  bool sizes_only() const { return sizes_only_; }

  // Required: a missing key is a fault; the stand-in is `low`.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  int count(std::string_view key, std::int64_t high) const { return static_cast<int>(integer(key, 1, high)); }
  std::int64_t width(std::string_view key) const { return integer(key, 1, kWidthMax); }
  double positive(std::string_view key) const;  // a finite number above 0
  // Required unless only sizes matter.
  double positive_number(std::string_view key, double stand_in) const {
    return sizes_only_ ? positive_if(key).value_or(stand_in) : positive(key);
  }

  // Optional: absent gives nothing, or the fallback.
  std::optional<std::int64_t> integer_if(std::string_view key, std::int64_t low, std::int64_t high) const;
  std::optional<double> positive_if(std::string_view key) const;
  bool flag(std::string_view key, bool fallback) const;
  std::optional<std::string> text_if(std::string_view key) const;
  std::optional<std::vector<int>> integers_if(std::string_view key, std::int64_t low,
                                              std::int64_t high) const;
  std::optional<std::vector<std::string>> texts_if(std::string_view key) const;
  std::optional<ConfigReader> object_if(std::string_view key) const;

  // Which of two spellings is there: the second if it alone is, else the first. Both with different values is
  // a fault.
  std::string_view spelling(std::string_view first, std::string_view second) const;

  // The value must be one of `allowed`; absent is fine. Returns its index, or nothing where absent or
  // refused.
  std::optional<std::size_t> choice_if(std::string_view key, std::span<const std::string_view> allowed) const;

  void report(std::string_view key, std::string rule, std::string remedy = "") const;
  // A problem of this key was reported: its value is a stand-in, and what follows from it is no fault of its
  // own.
  bool told(std::string_view key) const;
  void require(bool holds, std::string_view key, std::string rule, std::string remedy = "") const {
    if (!holds) report(key, std::move(rule), std::move(remedy));
  }

 private:
  const base::Json* object_;
  std::string place_;
  base::Inspector* inspector_;
  bool sizes_only_;
};

// "a, b or c", for messages.
std::string list_choices(std::span<const std::string_view> names);

}  // namespace outrider::checkpoint
