// Text <-> token ids: byte-level BPE as Hugging Face's tokenizer.json describes it (Qwen, DeepSeek, Llama 3,
// gpt-oss, GLM). Promises the ids of Hugging Face's tokenizers wherever the Unicode tables agree (NFC here is
// that of Unicode 14, there of 9). Any sequence of bytes that is UTF-8 can be encoded. Leaves out dropout,
// other models than BPE, truncation and padding, which belong to whoever makes batches for training.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"

namespace outrider::text {

// Tokens that tokenizer_config.json names, where it does.
struct NamedTokens {
  std::optional<base::TokenId> bos;
  std::optional<base::TokenId> eos;
  bool add_bos =
      false;  // what transformers would put in front of a text, whatever tokenizer.json's post-processor says

  friend bool operator==(const NamedTokens&, const NamedTokens&) = default;
};

// A handle: copies share one vocabulary, and threads may share a handle.
class Tokenizer {
 public:
  // `special`: with the tokens of the post-processor's template around the text. Refused: bytes that are no
  // UTF-8, more than 64 MiB, and a text on which a split pattern of the file runs beyond its limits.
  base::Result<std::vector<base::TokenId>> encode(std::string_view text, bool special) const;

  // All of it at once, by the rule of stream.h: bytes that are no character become U+FFFD.
  std::string decode(std::span<const base::TokenId> ids, bool skip_special) const;

  // One above the highest id; some ids below it may be nobody's. A model's table may have more rows.
  std::int32_t id_count() const;
  bool has(base::TokenId id) const;
  bool is_special(base::TokenId id) const;
  // As the file writes it: "Ġthe". Empty where no token has the id.
  std::string_view piece(base::TokenId id) const;
  // What the token adds to a text; may be part of a character. An id without a token gives a byte that is
  // none: one U+FFFD.
  std::string_view bytes(base::TokenId id) const;
  // The id of a piece as the file writes it.
  std::optional<base::TokenId> find(std::string_view piece) const;
  const NamedTokens& named() const;

 private:
  friend base::Result<Tokenizer> parse_tokenizer(const base::Json&, const std::string&, const base::Json*,
                                                 const std::string&);
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

// From the parsed tokenizer.json and, where there is one, tokenizer_config.json. The sources name the files
// in messages.
base::Result<Tokenizer> parse_tokenizer(const base::Json& json, const std::string& source,
                                        const base::Json* config = nullptr,
                                        const std::string& config_source = "tokenizer_config.json");

// From a folder or a tokenizer.json. tokenizer_config.json beside it is read; config.json beside it, if its
// vocab_size is below an id of the tokenizer, is a reason to refuse.
base::Result<Tokenizer> load_tokenizer(const std::string& path);

// Refuses a tokenizer whose ids reach beyond a model's table. `source` names where the size stands.
base::Result<base::Done> check_vocab_size(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                          const std::string& source);

}  // namespace outrider::text
