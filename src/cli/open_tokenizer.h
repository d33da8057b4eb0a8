// The tokenizer of a checkpoint's folder, the same for every command. Its files obey the rule of the folder's
// other files: no link out of it, but for the hub's cache.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer.h"

namespace outrider::cli {

// `path`: a folder, or a tokenizer.json. Refused where a file leads out of the folder.
base::Result<text::Tokenizer> open_tokenizer(const std::string& path);

}  // namespace outrider::cli
