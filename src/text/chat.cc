#include "text/chat.h"

#include <algorithm>
#include <array>

#include "base/inspector.h"
#include "base/strings.h"

namespace outrider::text {

base::Result<std::string> render_chatml(const Tokenizer& tokenizer, std::span<const Message> messages) {
  base::Inspector inspector;
  for (const std::string_view token : {"<|im_start|>", "<|im_end|>"}) {
    const auto id = tokenizer.find(token);
    inspector.require(
        id && tokenizer.is_special(*id),
        {.field = "chat",
         .found = "",
         .rule = "needs the special token " + std::string(token) + ", which the tokenizer does not have",
         .remedy = "give the prompt as plain text, in the model's own form"});
  }
  std::string text;
  for (const Message& message : messages) {
    const bool plain =
        !message.role.empty() && std::all_of(message.role.begin(), message.role.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '_';
        });
    inspector.require(plain, {.field = "chat: role",
                              .found = "\"" + base::printable(message.role) + "\"",
                              .rule = "must be of letters, digits, - and _",
                              .remedy = ""});
    text += "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
  }
  if (!inspector.clean()) return std::move(inspector).refuse();
  return text + "<|im_start|>assistant\n";
}

base::Result<std::string> render_chatml(const Tokenizer& tokenizer, const std::string& prompt) {
  const std::array messages{Message{.role = "user", .content = prompt}};
  return render_chatml(tokenizer, messages);
}

}  // namespace outrider::text
