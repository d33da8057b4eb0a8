// load_config of checkpoint.h.
#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folder.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

// RFC 7386: objects are merged key by key, null removes a key, everything else replaces what was there.
void merge_patch(base::Json& target, const base::Json& patch) {
  const base::Json::Object* changes = patch.object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (target.object() == nullptr) target = base::Json(base::Json::Object{});
  base::Json::Object& members = *target.object();
  for (const auto& [key, value] : *changes) {
    const auto same = [&key = key](const base::Json::Member& member) { return member.first == key; };
    auto found = std::find_if(members.begin(), members.end(), same);
    if (value.is_null()) {
      if (found != members.end()) members.erase(found);
      continue;
    }
    if (found == members.end()) found = members.insert(members.end(), {key, base::Json()});
    merge_patch(found->second, value);
  }
}

}  // namespace

base::Result<base::Json> load_config(const std::string& path, const base::Json* overrides) {
  std::string file = path, shown = path;
  if (is_folder(path)) {
    shown = join_path(path, "config.json");
    OUTRIDER_TRY(file, require_in_folder(path, "config.json", "name the folder of a model"));
  }
  OUTRIDER_TRY(const std::string text, base::read_text_file(file, kConfigBytesMax));
  OUTRIDER_TRY(base::Json config, base::parse_json(text, printable_path(shown)));
  if (config.object() == nullptr) {
    return base::refuse({.field = printable_path(shown),
                         .found = std::string(config.kind_name()),
                         .rule = "must be an object",
                         .remedy = ""});
  }
  if (overrides != nullptr) merge_patch(config, *overrides);
  return config;
}

}  // namespace outrider::checkpoint
