// The files of a checkpoint's folder, by plain name. Nothing outside the folder is opened on the word of a
// file in it: a link is followed only if it stays inside, or if the folder is a snapshot of the hub's cache
// (snapshots/REV/x -> ../../blobs/HASH). What the user names himself, the folder or a file, may be a link to
// anywhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace outrider::checkpoint {

// Where the file lies, links resolved; nothing where there is no such name. Refused: a link that leaves the
// folder or ends nowhere, and whatever is no regular file. `name` must be a plain name (is_plain_name).
base::Result<std::optional<std::string>> find_in_folder(const std::string& folder, const std::string& name);

// The same where the file must be there; `remedy` says what to do where it is not.
base::Result<std::string> require_in_folder(const std::string& folder, const std::string& name,
                                            const std::string& remedy = "");

// No separators, no control characters, not empty, not "." or "..".
bool is_plain_name(std::string_view name);

// Names in the folder that end so, sorted.
std::vector<std::string> names_ending(const std::string& folder, std::string_view ending);

bool is_folder(const std::string& path);
// "folder/name"
std::string join_path(const std::string& folder, const std::string& name);
// A path fit for a message, whole.
std::string printable_path(const std::string& path);

}  // namespace outrider::checkpoint
