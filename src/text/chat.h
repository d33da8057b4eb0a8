// Messages -> the text of a prompt, in the ChatML form of the Qwen family:
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n ... <|im_start|>assistant\n
// Content is taken as it stands: where it spells a special token, encoding finds that token, as with the
// published templates. Templates of other families are not read.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "text/tokenizer.h"

namespace outrider::text {

struct Message {
  std::string role;
  std::string content;
};

// Refused if the tokenizer has no such tokens, or a role holds more than letters, digits, '-' and '_'.
base::Result<std::string> render_chatml(const Tokenizer& tokenizer, std::span<const Message> messages);

// One message of the user, and the start of the answer.
base::Result<std::string> render_chatml(const Tokenizer& tokenizer, const std::string& prompt);

}  // namespace outrider::text
