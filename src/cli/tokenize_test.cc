#include "cli/tokenize.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "cli/command.h"

namespace outrider::cli {
namespace {

constexpr const char* kSprout = OUTRIDER_MODELS "/sprout";

struct Outcome {
  int code;
  std::string out, err;
};

Outcome tokenize(std::vector<std::string> words, const std::string& input = "") {
  std::istringstream stream(input);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_tokenize(words, stream);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Tokenize, WhatItPrintsDecodesToTheSameText) {
  const std::string text = "Leo has 114 pears.\n<|im_end|> \xE2\x82\xAC";
  const auto encoded = tokenize({kSprout}, text);
  ASSERT_EQ(encoded.code, kDone) << encoded.err;
  const auto decoded = tokenize({kSprout, "--decode", encoded.out});
  ASSERT_EQ(decoded.code, kDone) << decoded.err;
  EXPECT_EQ(decoded.out, text);
  EXPECT_EQ(tokenize({kSprout, "--text", text}).out, encoded.out);
  EXPECT_EQ(tokenize({kSprout, "--decode", encoded.out, "--skip-special-tokens"}).out,
            "Leo has 114 pears.\n \xE2\x82\xAC");
}

TEST(Tokenize, PrintsIdsAndPiecesAsJson) {
  EXPECT_EQ(tokenize({kSprout, "--json", "--text", "<|im_start|>user\n"}).out,
            "{\"ids\":[1,327,202],\"pieces\":[\"<|im_start|>\",\"user\",\"\xC4\x8A\"]}\n");
  EXPECT_EQ(tokenize({kSprout, "--json", "--decode", "1, 327,202"}).out,
            "{\"text\":\"<|im_start|>user\\n\"}\n");
  EXPECT_EQ(tokenize({kSprout, "--json", "--text", ""}).out, "{\"ids\":[],\"pieces\":[]}\n");
}

TEST(Tokenize, AnswersEachLineWithOneObject) {
  EXPECT_EQ(tokenize({kSprout, "--json-lines"}, "\"user\"\n\"\\n\"\n").out,
            "{\"ids\":[327],\"pieces\":[\"user\"]}\n{\"ids\":[202],\"pieces\":[\"\xC4\x8A\"]}\n");
  EXPECT_EQ(tokenize({kSprout, "--json-lines", "--decode"}, "[327,202]\n[]\n1,327").out,
            "{\"text\":\"user\\n\"}\n{\"text\":\"\"}\n{\"text\":\"<|im_start|>user\"}\n");
  EXPECT_EQ(tokenize({kSprout, "--decode", "--json-lines"}, "[327]\r\n").out, "{\"text\":\"user\"}\n");
}

TEST(Tokenize, RefusesAWrongLineByItsNumber) {
  for (const char* line : {"", "x", "[1]", "\"\xFF\"", "\"\\ud800\"", "\"a\" \"b\"", "{\"a\":1}", "\"open"}) {
    const auto outcome = tokenize({kSprout, "--json-lines"}, "\"ok\"\n" + std::string(line) + "\n");
    EXPECT_EQ(outcome.code, kRefused) << line;
    EXPECT_NE(outcome.err.find("line 2"), std::string::npos) << outcome.err;
  }
  for (const char* line : {"", "[-1]", "[8192]", "[1.5]", "[\"1\"]", "[1,", "1,,2", "{}",
                           "[99999999999999999999]", "4294967297"}) {
    const auto outcome = tokenize({kSprout, "--json-lines", "--decode"}, "[1]\n" + std::string(line) + "\n");
    EXPECT_EQ(outcome.code, kRefused) << line;
    EXPECT_NE(outcome.err.find("line 2"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "{\"text\":\"<|im_start|>\"}\n");
  }
}

TEST(Tokenize, NamesEveryBadId) {
  const auto outcome = tokenize({kSprout, "--decode", "1,-1,x,8192,"});
  EXPECT_EQ(outcome.code, kRefused);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 4) << outcome.err;
}

TEST(Tokenize, RefusesBytesThatAreNoUtf8) {
  const auto outcome = tokenize({kSprout}, "a\xC3");
  EXPECT_EQ(outcome.code, kRefused);
  EXPECT_NE(outcome.err.find("UTF-8"), std::string::npos);
  EXPECT_EQ(outcome.out, "");
}

TEST(Tokenize, RefusesFlagsThatExcludeEachOtherTogether) {
  const auto outcome = tokenize({"--text", "a", "--decode", "1", "--add-special-tokens", "--banana"});
  EXPECT_EQ(outcome.code, kRefused);
  for (const char* word : {"DIR", "--text", "--add-special-tokens", "--banana"}) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.err;
  }
}

TEST(Tokenize, FollowsNoLinkOutOfTheFolder) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("tokenize_links" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(std::string(kSprout) + "/tokenizer.json", folder / "tokenizer.json");
  const auto outcome = tokenize({folder.string(), "--text", "a"});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(outcome.code, kRefused);
  EXPECT_NE(outcome.err.find("tokenizer.json"), std::string::npos) << outcome.err;
}

TEST(Tokenize, RefusesAFolderWithoutATokenizer) {
  const auto outcome = tokenize({OUTRIDER_TEST_DATA, "--text", "a"});
  EXPECT_EQ(outcome.code, kRefused);
  EXPECT_NE(outcome.err.find("tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace outrider::cli
