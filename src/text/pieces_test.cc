// The parts of the tokenizer one by one, against brute force and against what the formats say.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/mapped_file.h"
#include "text/byte_alphabet.h"
#include "text/merge_table.h"
#include "text/pattern.h"
#include "text/splitter.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace outrider::text {
namespace {

using base::TokenId;

// --- the merge loop

// Byte-level BPE as it is defined: join the pair of lowest rank, leftmost first, until no pair has a rank.
std::vector<TokenId> merge_slowly(const std::vector<MergeRule>& rules, std::vector<TokenId> ids) {
  for (;;) {
    std::size_t best = ids.size();
    std::size_t best_rank = rules.size();
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (rules[rank].left != ids[i] || rules[rank].right != ids[i + 1]) continue;
        best = i;
        best_rank = rank;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = rules[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(MergeTable, AgreesWithTheDefinitionOnRandomRules) {
  std::uint32_t state = 7;
  const auto draw = [&](std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return static_cast<TokenId>((state >> 8) % below);
  };
  for (int round = 0; round < 300; ++round) {
    // Results may name any id, so that merges are listed before, behind and in circles with those that make
    // their parts.
    std::vector<MergeRule> rules;
    std::map<std::pair<TokenId, TokenId>, bool> seen;
    for (int i = 0; i < 12; ++i) {
      const MergeRule rule{draw(6), draw(6), draw(6)};
      if (seen.emplace(std::pair(rule.left, rule.right), true).second) rules.push_back(rule);
    }
    const MergeTable table(rules, 6);
    std::vector<TokenId> symbols(static_cast<std::size_t>(draw(30)));
    for (TokenId& symbol : symbols) symbol = draw(6);
    std::vector<TokenId> ids;
    table.merge(symbols, ids);
    ASSERT_EQ(ids, merge_slowly(rules, symbols)) << "round " << round;
  }
}

TEST(MergeTable, TakesALongRunOfEqualLettersInItsStride) {
  std::vector<MergeRule> rules;  // id k stands for 2^k letters
  for (TokenId id = 0; id < 10; ++id) rules.push_back({id, id, id + 1});
  std::vector<TokenId> ids;
  MergeTable(rules, 11).merge(std::vector<TokenId>(1'000'000, 0), ids);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 10), 976);
  EXPECT_EQ(std::vector<TokenId>(ids.begin() + 976, ids.end()), (std::vector<TokenId>{9, 6}));
}

// --- bytes and characters

TEST(ByteAlphabet, WritesEachByteAsItsOwnLetterAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter = alphabet_letter(static_cast<unsigned char>(byte));
    EXPECT_EQ(alphabet_bytes(letter), std::string(1, static_cast<char>(byte)));
    all += letter;
  }
  EXPECT_EQ(alphabet_bytes(all)->size(), 256u);
  EXPECT_EQ(alphabet_letter(' '), "\xC4\xA0");   // U+0120
  EXPECT_EQ(alphabet_letter('\n'), "\xC4\x8A");  // U+010A
  EXPECT_EQ(alphabet_letter(0xAD), "\xC5\x83");  // U+0143, the last one
  EXPECT_FALSE(alphabet_bytes("a b"));
  EXPECT_FALSE(alphabet_bytes("\xE4\xB8\xAD"));
}

TEST(Unicode, ComposesAsAnnex15Says) {
  EXPECT_EQ(derive_nfc("e\xCC\x81"), "\xC3\xA9");
  EXPECT_EQ(derive_nfc("\xE2\x84\xAB"), "\xC3\x85");  // the angstrom sign is a letter
  EXPECT_EQ(derive_nfc("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "\xED\x95\x9C");  // Hangul
  EXPECT_EQ(derive_nfc("q\xCC\x87\xCC\xA3"), "q\xCC\xA3\xCC\x87");                // marks in order
  EXPECT_EQ(derive_nfc("\xE0\xA5\x98"), "\xE0\xA4\x95\xE0\xA4\xBC");              // excluded from composition
  EXPECT_EQ(derive_nfc(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

TEST(Unicode, OrdersALongRunOfMarks) {
  std::string text = "a", above, below;
  for (int i = 0; i < 200'000; ++i) above += "\xCC\x87", below += "\xCC\xA3";
  // An a and a dot below compose to U+1EA1, which a dot above does not join.
  EXPECT_EQ(derive_nfc(text + above + below), "\xE1\xBA\xA1" + below.substr(2) + above);
}

TEST(Unicode, KnowsWordsAndSpaces) {
  for (const std::uint32_t code : {0x61u, 0x5Fu, 0x301u, 0x200Du, 0x2160u, 0x24B6u, 0x4E2Du, 0x663u})
    EXPECT_TRUE(is_word(code)) << code;
  for (const std::uint32_t code : {0x20u, 0x2Du, 0xB2u, 0x2014u, 0x200Bu, 0x1F600u})
    EXPECT_FALSE(is_word(code)) << code;
  for (const std::uint32_t code : {0x9u, 0xDu, 0x85u, 0xA0u, 0x2028u, 0x3000u})
    EXPECT_TRUE(is_space(code)) << code;
  for (const std::uint32_t code : {0x180Eu, 0x200Bu, 0xFEFFu, 0x1Cu, 0x1Fu})
    EXPECT_FALSE(is_space(code)) << code;
}

// --- patterns and splits

std::string rewritten(std::string_view pattern) {
  auto result = parse_pattern(pattern);
  return result.ok() ? *result : "refused: " + result.error().message;
}

TEST(Pattern, RewritesWhereTheDialectsDiffer) {
  EXPECT_EQ(rewritten("\\p{Han}+"), "\\p{sc:Han}+");
  EXPECT_EQ(rewritten("\\p{^Lu}\\P{L}"), "\\P{Lu}\\P{L}");
  EXPECT_EQ(rewritten("\\v\\u00e9\\x41"), "\\x{b}\\x{00e9}\\x{41}");
  EXPECT_EQ(rewritten("a{,3}b{2}c{1,}"), "a{0,3}b{2}c{1,}");
  EXPECT_EQ(rewritten("(?i:'s|'t)|[^\\r\\n\\p{L}]?x++"), "(?i:'s|'t)|[^\\r\\n\\p{L}]?x++");
}

TEST(Pattern, RefusesWhatItDoesNotKnowToMeanTheSame) {
  for (const char* pattern :
       {"[\\W]",   "\\bx",        "\\h",    "\\R",         "\\K",     "\\1",     "[a[b]]",
        "[a&&b]",  "[[:alpha:]]", "a(?i)b", "(?m:.)",      "(?<n>a)", "(?#c)",   "(*ACCEPT)",
        "a{1,2}+", "a{2}?",       "a{",     "{",           "[]a]",    "[a",      "\\",
        "\\p",     "\\p{",        "\\p{}",  "\\p{sc:Han}", "\\x",     "\\x{110", "\\u12"}) {
    EXPECT_EQ(rewritten(pattern).substr(0, 8), "refused:") << pattern << " -> " << rewritten(pattern);
  }
}

std::string split_of(const std::string& pattern, const std::string& text,
                     SplitBehavior behavior = SplitBehavior::Isolated, bool invert = false,
                     bool literal = false, double seconds_max = 60) {
  const auto splitter =
      Splitter::compile({.pattern = pattern, .literal = literal, .behavior = behavior, .invert = invert});
  if (!splitter.ok()) return "refused: " + splitter.error().message;
  SplitWorkspace workspace(seconds_max);
  std::vector<std::string_view> parts;
  const auto done = splitter->split(text, workspace, parts);
  if (!done.ok()) return "failed: " + done.error().message;
  std::string joined;
  for (const std::string_view part : parts) joined += (joined.empty() ? "" : "|") + std::string(part);
  return joined;
}

TEST(Splitter, DoesWithTheMatchesWhatTheBehaviourSays) {
  // The example of the format's own documentation: "the-final--countdown" split at "-".
  const std::string text = "the-final--countdown";
  EXPECT_EQ(split_of("-", text, SplitBehavior::Removed), "the|final|countdown");
  EXPECT_EQ(split_of("-", text, SplitBehavior::Isolated), "the|-|final|-|-|countdown");
  EXPECT_EQ(split_of("-", text, SplitBehavior::MergedWithPrevious), "the-|final-|-|countdown");
  EXPECT_EQ(split_of("-", text, SplitBehavior::MergedWithNext), "the|-final|-|-countdown");
  EXPECT_EQ(split_of("-", text, SplitBehavior::Contiguous), "the|-|final|--|countdown");
  EXPECT_EQ(split_of("[a-z]+", text, SplitBehavior::Removed, true), "the|final|countdown");
}

TEST(Splitter, TakesALiteralAsItStands) {
  EXPECT_EQ(split_of(".+", "a.+b", SplitBehavior::Isolated, false, true), "a|.+|b");
  EXPECT_EQ(split_of("\xC3\xA9", "a\xC3\xA9z", SplitBehavior::Isolated, false, true), "a|\xC3\xA9|z");
}

TEST(Splitter, GoesOnBehindEmptyMatches) {
  EXPECT_EQ(split_of("x*", "ax\xC3\xA9xxb"), "a|x|\xC3\xA9|xx|b");
  EXPECT_EQ(split_of("(?=b)", "abab"), "a|ba|b");
  EXPECT_EQ(split_of("x*", ""), "");
}

TEST(Splitter, SeesNoSpaceWhereTheFormatSeesNone) {
  EXPECT_EQ(split_of("\\s+",
                     "a\xE1\xA0\x8E"
                     "b\xC2\x85"
                     "c\xE3\x80\x80"
                     "d"),
            "a\xE1\xA0\x8E"
            "b|\xC2\x85|c|\xE3\x80\x80|d");
  EXPECT_EQ(split_of("[^\\S]+", "a\xE1\xA0\x8E \n"), "a\xE1\xA0\x8E| \n");
  EXPECT_EQ(split_of("[\\s!]+", "a !b"), "a| !|b");
}

TEST(Splitter, TakesMarksAndConnectorsForWords) {
  EXPECT_EQ(split_of("\\w+",
                     "e\xCC\x81_\xE2\x93\x90\xE2\x80\xBF"
                     "1-\xC2\xB2"),
            "e\xCC\x81_\xE2\x93\x90\xE2\x80\xBF"
            "1|-\xC2\xB2");
  EXPECT_EQ(split_of("[^\\w\\s]+", "a, b!?"), "a|,| b|!?");
  EXPECT_EQ(split_of("\\W", "a-b"), "a|-|b");
}

TEST(Splitter, RefusesWhatIsNoPattern) {
  for (const char* pattern : {"", "(", "a)", "[z-a]", "*", "\\p{Lx}", "\\p{Klingon}", "(?<=a+)b"}) {
    EXPECT_EQ(split_of(pattern, "a").substr(0, 8), "refused:") << pattern;
  }
  EXPECT_EQ(split_of(std::string(200, '(') + "a" + std::string(200, ')'), "a").substr(0, 8), "refused:");
  EXPECT_EQ(split_of(std::string(20000, 'a'), "a").substr(0, 8), "refused:");
  EXPECT_EQ(split_of("((((a{1,200}){1,200}){1,200}){1,200}){1,200}", "a").substr(0, 8), "refused:");
}

TEST(Splitter, GivesUpOnAPatternThatBacktracksWithoutEnd) {
  EXPECT_EQ(split_of("(a+)+$", std::string(60, 'a') + "!").substr(0, 7), "failed:");
  EXPECT_EQ(split_of("(a|a)*$", std::string(60, 'a') + "!").substr(0, 7), "failed:");
}

TEST(Splitter, GivesUpOnAPatternThatIsSlowEverywhere) {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::string(15, 'a') + "!";  // each start of a run costs 2^15 steps or less
  EXPECT_EQ(split_of("(a+)+$", text, SplitBehavior::Isolated, false, false, 0.02).substr(0, 7), "failed:");
}

TEST(Splitter, FindsMatchesThatStartFarFromTheLastOne) {
  for (const std::size_t distance : {254u, 255u, 256u, 257u, 258u, 511u, 512u, 513u, 5000u}) {
    for (const std::string unit : {"x", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80"}) {
      std::string gap;
      for (std::size_t i = 0; i < distance; ++i) gap += unit;
      EXPECT_EQ(split_of("[0-9]+|$", gap + "12" + gap + "3"), gap + "|12|" + gap + "|3") << distance << unit;
    }
  }
}

TEST(Splitter, MatchesALongRunWithoutALimitInTheWay) {
  const std::string run(2'000'000, ' ');
  EXPECT_EQ(split_of("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", run), run);
  EXPECT_EQ(split_of("(?:ab)+", "x" + std::string(100, 'y')), "x" + std::string(100, 'y'));
  std::string pairs;
  for (int i = 0; i < 300'000; ++i) pairs += "ab";
  EXPECT_EQ(split_of("(?:ab)+", pairs), pairs);  // beyond the stack of the compiled code
}

// --- parts of the file that no fixture has

std::string healthy() { return *base::read_text_file(OUTRIDER_TEST_DATA "/hostile/tokenizer/ok.json"); }

base::Result<Tokenizer> load_changed(std::vector<std::pair<std::string, std::string>> changes) {
  std::string text = healthy();
  for (const auto& [from, to] : changes) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  const auto json = base::parse_json(text, "tokenizer.json");
  EXPECT_TRUE(json.ok()) << base::to_string(json.error());
  return parse_tokenizer(*json, "tokenizer.json");
}

const std::string kPost =
    R"("post_processor":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false})";

TEST(Tokenizer, PutsTheTemplatesTokensAroundTheText) {
  const std::string piece = R"({"SpecialToken":{"id":"<|end|>","type_id":0}})",
                    sequence = R"({"Sequence":{"id":"A","type_id":0}})";
  const auto loaded = load_changed(
      {{kPost,
        R"("post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing","single":[)" +
            piece + "," + sequence + "," + piece + "," + piece +
            R"(],"pair":[],"special_tokens":{"<|end|>":{"id":"<|end|>","ids":[266],"tokens":["<|end|>"]}}}]})"}});
  ASSERT_TRUE(loaded.ok()) << base::to_string(loaded.error());
  EXPECT_EQ(*loaded->encode("hello", true), (std::vector<TokenId>{266, 259, 266, 266}));
  EXPECT_EQ(*loaded->encode("hello", false), (std::vector<TokenId>{259}));
  EXPECT_EQ(*loaded->encode("", true), (std::vector<TokenId>{266, 266, 266}));
}

TEST(Tokenizer, RefusesATemplateThatIsNoneForOneText) {
  const std::string head = R"("post_processor":{"type":"TemplateProcessing","special_tokens":{},"single":)";
  for (const char* single :
       {"[]", "{}", R"([{"Sequence":{"id":"B"}}])", R"([{"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}}])",
        R"([{"SpecialToken":{"id":"<|end|>"}},{"Sequence":{"id":"A"}}])", "[1]", "[{}]"}) {
    const auto loaded = load_changed({{kPost, head + single + "}"}});
    ASSERT_FALSE(loaded.ok()) << single;
    EXPECT_NE(base::to_string(loaded.error()).find("post_processor"), std::string::npos);
  }
}

TEST(Tokenizer, SplitsDigitsAndBringsByteLevelsOwnPattern) {
  const std::string from = healthy().substr(healthy().find("\"pre_tokenizer\""));
  const std::string old = from.substr(0, from.find(",\"post_processor\""));
  const auto own = load_changed(
      {{old, R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true})"}});
  ASSERT_TRUE(own.ok()) << base::to_string(own.error());
  EXPECT_EQ(own->encode("'th", false)->size(), 3u);  // "'t" is cut off, and "th" cannot be joined
  EXPECT_EQ(load_changed({})->encode("'th", false)->size(), 2u);
  for (const bool individual : {true, false}) {
    const std::string digits =
        std::string(R"({"type":"Digits","individual_digits":)") + (individual ? "true}" : "false}");
    const std::string pre =
        R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + digits +
        R"(,{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]})";
    const auto loaded = load_changed({{old, pre}, {"\"in\":", "\"12\":"}, {R"(["i","n"])", R"(["1","2"])"}});
    ASSERT_TRUE(loaded.ok()) << base::to_string(loaded.error());
    EXPECT_EQ(loaded->encode("a12", false)->size(), individual ? 3u : 2u);
  }
}

TEST(Tokenizer, RefusesAnotherVersionOfTheFormat) {
  const auto loaded = load_changed({{R"("version":"1.0")", R"("version":"2.0")"}});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().problems[0].field, "tokenizer.json: version");
}

TEST(Tokenizer, RefusesTextThatIsNoUtf8) {
  const auto loaded = load_changed({});
  ASSERT_TRUE(loaded.ok());
  for (const std::string text : {"\xFF", "a\xC3", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xC0\x80"}) {
    const auto ids = loaded->encode(text, false);
    ASSERT_FALSE(ids.ok());
    EXPECT_NE(base::to_string(ids.error()).find("UTF-8"), std::string::npos);
  }
}

TEST(Tokenizer, TellsWhatAnIdIs) {
  const auto loaded = load_changed({});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->id_count(), 268);
  EXPECT_TRUE(loaded->is_special(266));
  EXPECT_FALSE(loaded->is_special(267));
  EXPECT_FALSE(loaded->has(268));
  EXPECT_FALSE(loaded->has(-1));
  EXPECT_EQ(loaded->piece(259), "hello");
  EXPECT_EQ(loaded->piece(32), "\xC4\xA0");
  EXPECT_EQ(loaded->bytes(32), " ");
  EXPECT_EQ(loaded->find("<tool>"), 267);
  EXPECT_FALSE(loaded->find("<nope>"));
}

}  // namespace
}  // namespace outrider::text
