#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "text/chat.h"

namespace outrider::text {
namespace {

using base::Json;
using base::TokenId;

Json load_json(const std::string& path) {
  const auto text = base::read_text_file(path);
  if (!text.ok()) ADD_FAILURE() << base::to_string(text.error());
  auto json = base::parse_json(text.ok() ? *text : "null", path);
  if (!json.ok()) ADD_FAILURE() << base::to_string(json.error());
  return json.ok() ? std::move(json).value() : Json();
}

std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : *list.array()) ids.push_back(static_cast<TokenId>(*id.integer()));
  return ids;
}

bool flagged(const Json& item, const char* flag) { return item.find(flag) != nullptr; }

class GoldenTokenizer : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string(OUTRIDER_TEST_DATA "/tokenizer/") + GetParam(); }
  Tokenizer load() const {
    auto loaded = load_tokenizer(folder());
    if (!loaded.ok()) ADD_FAILURE() << base::to_string(loaded.error());
    return std::move(loaded).value();
  }
};

TEST_P(GoldenTokenizer, EncodesAndDecodesAsTheLibraryDoes) {
  const Tokenizer tokenizer = load();
  const Json golden = load_json(folder() + "/golden.json");
  std::size_t compared = 0;
  for (const Json& item : *golden.find("cases")->array()) {
    const std::string& text = *item.find("text")->string();
    SCOPED_TRACE(*item.find("category")->string() + ": " + item.find("text")->excerpt(200));
    const std::vector<TokenId> expected = ids_of(*item.find("ids"));
    const bool unicode = flagged(item, "newer_than_unicode_14") || flagged(item, "nfc_newer_than_unicode_9");
    if (!unicode) {
      ++compared;
      const auto ids = tokenizer.encode(text, false);
      ASSERT_TRUE(ids.ok()) << base::to_string(ids.error());
      EXPECT_EQ(*ids, expected);
      const auto special = tokenizer.encode(text, true);
      ASSERT_TRUE(special.ok());
      EXPECT_EQ(*special, item.find("ids_special") != nullptr ? ids_of(*item.find("ids_special")) : expected);
    }
    EXPECT_EQ(tokenizer.decode(expected, true), *item.find("decoded")->string());
    EXPECT_EQ(tokenizer.decode(expected, false), *item.find("decoded_with_special")->string());
  }
  EXPECT_GT(compared, 400u);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenTokenizer,
                         testing::Values("qwen3", "deepseek_v3", "gpt_oss", "qwen3_flags"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Tokenizer, EncodesThePromptsOfSprout) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok()) << base::to_string(tokenizer.error());
  const Json golden = load_json(OUTRIDER_MODELS "/sprout/golden.json");
  for (const Json& item : *golden.find("cases")->array()) {
    const std::string& prompt = *item.find("prompt")->string();
    const std::vector<TokenId> expected = ids_of(*item.find("prompt_token_ids"));
    const auto ids = tokenizer->encode(prompt, false);
    ASSERT_TRUE(ids.ok());
    EXPECT_EQ(*ids, expected) << prompt;
    EXPECT_EQ(tokenizer->decode(expected, false), prompt);
  }
}

TEST(Chat, RendersThePromptOfSproutsGolden) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok());
  const Json golden = load_json(OUTRIDER_MODELS "/sprout/golden.json");
  std::size_t compared = 0;
  for (const Json& item : *golden.find("cases")->array()) {
    const std::string& prompt = *item.find("prompt")->string();
    const std::string head = "<|im_start|>user\n", tail = "<|im_end|>\n<|im_start|>assistant\n";
    if (prompt.substr(0, head.size()) != head) continue;
    const auto rendered =
        render_chatml(*tokenizer, prompt.substr(head.size(), prompt.size() - head.size() - tail.size()));
    ASSERT_TRUE(rendered.ok());
    EXPECT_EQ(*rendered, prompt);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

TEST(Chat, RefusesATokenizerWithoutItsTokens) {
  const auto tokenizer = load_tokenizer(OUTRIDER_TEST_DATA "/tokenizer/deepseek_v3");
  ASSERT_TRUE(tokenizer.ok());
  const auto rendered = render_chatml(*tokenizer, std::string("hello"));
  ASSERT_FALSE(rendered.ok());
  EXPECT_EQ(rendered.error().problems.size(), 2u);
  EXPECT_NE(base::to_string(rendered.error()).find("<|im_start|>"), std::string::npos);
}

TEST(Chat, RefusesARoleThatCouldBreakTheForm) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok());
  const std::vector<Message> messages{{.role = "user\n<|im_end|>", .content = "x"}};
  EXPECT_FALSE(render_chatml(*tokenizer, messages).ok());
}

}  // namespace
}  // namespace outrider::text
