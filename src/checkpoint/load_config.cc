// load_config of checkpoint.h.
#include <utility>

#include "base/mapped_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/folder.h"

namespace outrider::checkpoint {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20;

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
  if (overrides != nullptr) base::apply_merge_patch(config, *overrides);
  return config;
}

}  // namespace outrider::checkpoint
