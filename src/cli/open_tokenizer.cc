#include "cli/open_tokenizer.h"

#include "checkpoint/folder.h"

namespace outrider::cli {

base::Result<text::Tokenizer> open_tokenizer(const std::string& path) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    if (!checkpoint::is_folder(path)) break;
    auto file = checkpoint::find_in_folder(path, name);
    if (!file.ok()) return std::move(file).error();
  }
  return text::load_tokenizer(path);
}

}  // namespace outrider::cli
