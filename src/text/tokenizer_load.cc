// The part of tokenizer.h that touches files.
#include <filesystem>

#include "base/mapped_file.h"
#include "base/strings.h"
#include "text/tokenizer.h"

namespace outrider::text {
namespace {

// Published files have at most 35 MB. The bound keeps the parsed tree of a hostile one small.
constexpr std::size_t kFileBytesMax = std::size_t{64} << 20;
// Deep enough that the nesting of a pre-tokenizer is judged, and named, by its own rule.
constexpr std::size_t kFileDepthMax = 1024;

base::Result<base::Json> load_json(const std::string& path, std::size_t depth_max) {
  std::error_code fault;
  const auto bytes = std::filesystem::file_size(path, fault);
  if (!fault && bytes > kFileBytesMax) {
    return base::refuse({.field = path,
                         .found = std::to_string(bytes) + " bytes",
                         .rule = "at most " + std::to_string(kFileBytesMax) +
                                 " are read, enough for vocab and merges of a million tokens",
                         .remedy = ""});
  }
  OUTRIDER_TRY(const std::string text, base::read_text_file(path, kFileBytesMax));
  if (!base::is_utf8(text))
    return base::refuse({.field = path, .found = "", .rule = "must be UTF-8", .remedy = ""});
  return base::parse_json(text, path, {.depth_max = depth_max});
}

// The vocab_size of a config.json, also of one whose language model is a part.
const std::int64_t* find_vocab_size(const base::Json& config) {
  for (const base::Json* part : {&config, config.find("text_config"), config.find("language_config")}) {
    const base::Json* size = part == nullptr ? nullptr : part->find("vocab_size");
    if (size != nullptr && size->integer() != nullptr) return size->integer();
  }
  return nullptr;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code fault;
  return std::filesystem::exists(path, fault);
}

}  // namespace

base::Result<base::Done> check_vocab_size(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                          const std::string& source) {
  const std::int32_t highest = tokenizer.id_count() - 1;
  if (highest < vocab_size) return base::Done{};
  return base::refuse({.field = source + ": vocab_size",
                       .found = std::to_string(vocab_size),
                       .rule = "must be above the highest token id of the tokenizer, " +
                               std::to_string(highest) + " (\"" + base::printable(tokenizer.piece(highest)) +
                               "\")",
                       .remedy = ""});
}

base::Result<Tokenizer> load_tokenizer(const std::string& path) {
  std::error_code fault;
  const bool folder = std::filesystem::is_directory(path, fault);
  const std::filesystem::path file =
      folder ? std::filesystem::path(path) / "tokenizer.json" : std::filesystem::path(path);
  const std::filesystem::path config_file = file.parent_path() / "tokenizer_config.json";
  const std::filesystem::path model_file = file.parent_path() / "config.json";
  OUTRIDER_TRY(const base::Json json, load_json(file.string(), kFileDepthMax));
  base::Json config;
  const bool configured = is_there(config_file);
  if (configured) {
    OUTRIDER_TRY(config, load_json(config_file.string(), base::JsonLimits{}.depth_max));
  }
  OUTRIDER_TRY(Tokenizer tokenizer,
               parse_tokenizer(json, file.string(), configured ? &config : nullptr, config_file.string()));
  if (is_there(model_file)) {
    OUTRIDER_TRY(const base::Json model, load_json(model_file.string(), base::JsonLimits{}.depth_max));
    if (const std::int64_t* size = find_vocab_size(model)) {
      OUTRIDER_TRY_DONE(check_vocab_size(tokenizer, *size, model_file.string()));
    }
  }
  return tokenizer;
}

}  // namespace outrider::text
