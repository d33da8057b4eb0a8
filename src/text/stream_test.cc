#include "text/stream.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"

namespace outrider::text {
namespace {

using base::Json;
using base::TokenId;

class GoldenStream : public testing::TestWithParam<const char*> {};

TEST_P(GoldenStream, SendsTheTextOfEachIdAsSoonAsItMay) {
  const std::string folder = std::string(OUTRIDER_TEST_DATA "/tokenizer/") + GetParam();
  const auto tokenizer = load_tokenizer(folder);
  ASSERT_TRUE(tokenizer.ok()) << base::to_string(tokenizer.error());
  const auto text = base::read_text_file(folder + "/golden.json");
  ASSERT_TRUE(text.ok());
  const auto golden = base::parse_json(*text, "golden.json");
  ASSERT_TRUE(golden.ok());
  for (const Json& item : *golden->find("stream")->array()) {
    SCOPED_TRACE(*item.find("name")->string());
    const bool skip = *item.find("skip_special_tokens")->boolean();
    TextStream stream(*tokenizer, {.skip_special = skip, .stops = {}});
    std::string all;
    const Json::Array& ids = *item.find("ids")->array();
    const Json::Array& emit = *item.find("emit")->array();
    ASSERT_EQ(ids.size(), emit.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto chunk = stream.push(static_cast<TokenId>(*ids[i].integer()));
      EXPECT_EQ(chunk.text, *emit[i].string()) << "id " << i;
      EXPECT_FALSE(chunk.stopped);
      all += chunk.text;
    }
    const std::string rest = stream.flush();
    EXPECT_EQ(rest, *item.find("flush")->string());
    EXPECT_EQ(all + rest, *item.find("text")->string());
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenStream,
                         testing::Values("qwen3", "deepseek_v3", "gpt_oss", "qwen3_flags"),
                         [](const auto& test) { return std::string(test.param); });

std::string text_until_stop(const std::vector<std::string>& stops, const std::vector<std::string>& chunks,
                            std::string& held) {
  StopScanner scanner(stops);
  std::string out;
  for (const std::string& chunk : chunks) out += scanner.push(chunk);
  held = scanner.flush();
  return out;
}

TEST(StopScanner, HoldsBackExactlyWhatCouldStillBecomeAStopString) {
  StopScanner scanner({"END"});
  EXPECT_EQ(scanner.push("the E"), "the ");
  EXPECT_EQ(scanner.push("N"), "");
  EXPECT_EQ(scanner.push("E"), "EN");
  EXPECT_EQ(scanner.push("ND, more"), "");
  ASSERT_TRUE(scanner.match());
  EXPECT_EQ(scanner.match()->begin, 6u);
  EXPECT_EQ(scanner.match()->end, 9u);
  EXPECT_EQ(scanner.push("x"), "");
  EXPECT_EQ(scanner.flush(), "");
}

TEST(StopScanner, SendsWhatWasHeldAtTheEnd) {
  std::string held;
  EXPECT_EQ(text_until_stop({"\n\nQ:"}, {"a\n", "\nQ"}, held), "a");
  EXPECT_EQ(held, "\n\nQ");
}

TEST(StopScanner, TakesTheLongerOfTwoStopsThatEndTogether) {
  StopScanner scanner({"c", "abc"});
  EXPECT_EQ(scanner.push("xab"), "x");
  EXPECT_EQ(scanner.push("c"), "");
  ASSERT_TRUE(scanner.match());
  EXPECT_EQ(scanner.match()->stop, 1u);
}

// Every text over {a, b} up to 9 letters, every set of two stops up to 3 letters, cut at every place into two
// chunks, against a search in the whole text.
TEST(StopScanner, StopsAtTheSamePlaceHoweverTheTextIsCut) {
  std::vector<std::string> stops;
  for (std::size_t length = 1; length <= 3; ++length) {
    for (std::size_t bits = 0; bits < (std::size_t{1} << length); ++bits) {
      std::string stop;
      for (std::size_t i = 0; i < length; ++i) stop += (bits >> i & 1) != 0 ? 'b' : 'a';
      stops.push_back(stop);
    }
  }
  for (std::size_t bits = 0; bits < 512; ++bits) {
    std::string text;
    for (std::size_t i = 0; i < 9; ++i) text += (bits >> i & 1) != 0 ? 'b' : 'a';
    for (const std::string& one : stops) {
      for (const std::string& two : stops) {
        std::size_t end = text.size() + 1, begin = text.size();
        for (const std::string& stop : {one, two}) {
          const std::size_t at = text.find(stop);
          if (at == std::string::npos || at + stop.size() > end) continue;
          begin = at + stop.size() < end ? at : std::min(begin, at);
          end = at + stop.size();
        }
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
          std::string held;
          const std::string out = text_until_stop({one, two}, {text.substr(0, cut), text.substr(cut)}, held);
          ASSERT_EQ(end > text.size() ? out + held : out, text.substr(0, begin))
              << text << " " << one << " " << two;
        }
      }
    }
  }
}

TEST(TextStream, NamesTheTokenThatCompletesAStopAndWhereItBegins) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok());
  const std::string text = "She went home. The end, and more.";
  const auto ids = tokenizer->encode(text, false);
  ASSERT_TRUE(ids.ok());
  TextStream stream(*tokenizer, {.skip_special = true, .stops = {"e end", "zebra"}});
  std::string out;
  std::size_t pushed = 0;
  for (const TokenId id : *ids) {
    const auto chunk = stream.push(id);
    out += chunk.text;
    ++pushed;
    if (chunk.stopped) break;
  }
  EXPECT_EQ(out + stream.flush(), "She went home. Th");
  ASSERT_TRUE(stream.stop());
  EXPECT_EQ(stream.stop()->token_count, pushed);
  EXPECT_EQ(stream.stop()->text_bytes, 17u);
  EXPECT_EQ(stream.stop()->stop, 0u);
  const std::string before = tokenizer->decode(std::span(*ids).first(pushed - 1), true);
  EXPECT_EQ(before.find("e end"), std::string::npos);
  EXPECT_NE(tokenizer->decode(std::span(*ids).first(pushed), true).find("e end"), std::string::npos);
  EXPECT_TRUE(stream.push(5).stopped);
}

TEST(TextStream, IncludesTheStopWhereAsked) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok());
  const auto ids = tokenizer->encode("one two three", false);
  ASSERT_TRUE(ids.ok());
  TextStream stream(*tokenizer, {.skip_special = true, .stops = {"tw"}, .include_stop = true});
  std::string out;
  for (const TokenId id : *ids) out += stream.push(id).text;
  EXPECT_EQ(out + stream.flush(), "one tw");
}

TEST(TextStream, ShowsAnIdWithoutATokenAsAReplacementCharacter) {
  const auto tokenizer = load_tokenizer(OUTRIDER_MODELS "/sprout");
  ASSERT_TRUE(tokenizer.ok());
  TextStream stream(*tokenizer, {});
  EXPECT_EQ(stream.push(1'000'000).text, "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(-1).text, "\xEF\xBF\xBD");
}

TEST(TextStream, RefusesEmptyAndBrokenStopStrings) {
  base::Inspector inspector;
  check_stops({"", "ok", "\xC3"}, "--stop", inspector);
  ASSERT_EQ(inspector.problems().size(), 2u);
  EXPECT_EQ(inspector.problems()[0].field, "--stop");
  EXPECT_NE(inspector.problems()[1].found.find("\\xc3"), std::string::npos);
}

}  // namespace
}  // namespace outrider::text
