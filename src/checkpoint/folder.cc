#include "checkpoint/folder.h"

#include <algorithm>
#include <filesystem>

#include "base/strings.h"

namespace outrider::checkpoint {
namespace {

namespace fs = std::filesystem;

// snapshots/REV/x -> ../../blobs/HASH, in exactly this form, and ending in that folder.
bool is_hub_link(const fs::path& root, const fs::path& link_text, const fs::path& real) {
  const fs::path blobs = root.parent_path().parent_path() / "blobs";
  return root.parent_path().filename() == "snapshots" && real.parent_path() == blobs &&
         link_text.parent_path() == fs::path("../../blobs") && is_plain_name(link_text.filename().string());
}

bool lies_inside(const fs::path& root, const fs::path& real) {
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

}  // namespace

base::Result<std::optional<std::string>> find_in_folder(const std::string& folder, const std::string& name) {
  OUTRIDER_CHECK(is_plain_name(name));
  const fs::path path = fs::path(folder) / name;
  const auto fail = [&](std::string found, std::string rule, std::string remedy = "") {
    return base::refuse({.field = printable_path(path.string()),
                         .found = std::move(found),
                         .rule = std::move(rule),
                         .remedy = std::move(remedy)});
  };
  std::error_code fault;
  const fs::file_status status = fs::symlink_status(path, fault);
  if (status.type() == fs::file_type::not_found) return std::optional<std::string>();
  if (fault) return fail("", "cannot be looked at: " + fault.message());
  const fs::path root = fs::canonical(folder, fault);
  if (fault) return fail("", "cannot be looked at: " + fault.message());
  fs::path real = root / name;
  if (fs::is_symlink(status)) {
    const fs::path link_text = fs::read_symlink(path, fault);
    const std::string found = "a link to " + base::printable(link_text.string());
    real = fs::canonical(path, fault);
    if (fault) return fail(found, "must lead to a file: " + fault.message());
    if (!lies_inside(root, real) && !is_hub_link(root, link_text, real)) {
      return fail(found, "must not leave the folder",
                  "copy the file itself into the folder, or name the folder that holds it; only the links of "
                  "a hub cache "
                  "(snapshots/REV/x to ../../blobs/HASH) are followed");
    }
  }
  if (!fs::is_regular_file(real, fault)) return fail("", "must be a regular file");
  return std::optional(real.string());
}

base::Result<std::string> require_in_folder(const std::string& folder, const std::string& name,
                                            const std::string& remedy) {
  OUTRIDER_TRY(std::optional<std::string> found, find_in_folder(folder, name));
  if (found) return std::move(*found);
  const std::string rule = is_folder(folder) ? "is missing" : "is missing: there is no such folder";
  return base::refuse(
      {.field = printable_path(join_path(folder, name)), .found = "", .rule = rule, .remedy = remedy});
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.size() > 255) return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

std::vector<std::string> names_ending(const std::string& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code fault;
  for (auto at = fs::directory_iterator(folder, fault); !fault && at != fs::directory_iterator();
       at.increment(fault)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(ending)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder(const std::string& path) {
  std::error_code fault;
  return fs::is_directory(path, fault);
}

std::string join_path(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

std::string printable_path(const std::string& path) { return base::printable(path, 4096); }

}  // namespace outrider::checkpoint
