// For tests: configs from tests/data, and the names, types and shapes in a safetensors file's header, read
// apart from the module.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"

namespace outrider::checkpoint {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline base::Json read_json(const std::filesystem::path& path) {
  base::Result<base::Json> json = base::parse_json(read_text(path), path.filename().string());
  EXPECT_TRUE(json.ok()) << path << (json.ok() ? "" : base::to_string(json.error()));
  return json.ok() ? std::move(json).value() : base::Json();
}

inline std::filesystem::path test_data(const std::string& relative) {
  return std::filesystem::path(OUTRIDER_TEST_DATA) / relative;
}

inline std::vector<std::string> folders_of(const std::string& relative) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test_data(relative))) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A copy of an object with one member set.
inline base::Json with(const base::Json& object, const std::string& key, base::Json value) {
  base::Json::Object members = *object.object();
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.first == key; });
  if (found == members.end()) {
    members.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
  return base::Json(std::move(members));
}
inline base::Json without(const base::Json& object, const std::string& key) {
  base::Json::Object members = *object.object();
  std::erase_if(members, [&](const auto& member) { return member.first == key; });
  return base::Json(std::move(members));
}

struct HeaderEntry {
  std::string dtype;
  std::vector<std::int64_t> shape;
  friend bool operator==(const HeaderEntry&, const HeaderEntry&) = default;
};

// All tensors of a folder's model*.safetensors.
inline std::map<std::string, HeaderEntry> read_headers(const std::filesystem::path& folder) {
  std::map<std::string, HeaderEntry> entries;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("model") || !name.ends_with(".safetensors")) continue;
    const std::string bytes = read_text(file.path());
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const base::Result<base::Json> header = base::parse_json(bytes.substr(8, length), name);
    EXPECT_TRUE(header.ok()) << name;
    if (!header.ok()) continue;
    for (const auto& [tensor, value] : *header->object()) {
      if (tensor == "__metadata__") continue;
      HeaderEntry entry{*value.find("dtype")->string(), {}};
      for (const base::Json& dimension : *value.find("shape")->array())
        entry.shape.push_back(*dimension.integer());
      entries.emplace(tensor, std::move(entry));
    }
  }
  return entries;
}

inline std::vector<std::string> names_of(const std::map<std::string, HeaderEntry>& entries) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return names;
}

}  // namespace outrider::checkpoint
