#include "base/json.h"

#include <gtest/gtest.h>

#include "base/json_write.h"
#include "base/strings.h"

namespace outrider::base {
namespace {

std::string fault_of(std::string_view text) {
  const auto result = parse_json(text, "x.json");
  return result.ok() ? "accepted" : to_string(result.error());
}

TEST(Json, ReadsEveryKindOfValue) {
  const auto tree = parse_json(R"({"a":1,"b":-2.5e3,"c":"d\u00e9","e":[true,null],"f":{}})", "x");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(*tree->find("a")->integer(), 1);
  EXPECT_EQ(tree->find("b")->number(), -2500.0);
  EXPECT_EQ(tree->find("b")->integer(), nullptr);
  EXPECT_EQ(*tree->find("c")->string(), "d\xC3\xA9");
  EXPECT_TRUE((*tree->find("e")->array())[1].is_null());
  EXPECT_EQ(tree->find("g"), nullptr);
}

TEST(Json, RefusesADuplicateKeyByItsName) {
  EXPECT_NE(fault_of(R"({"k":{"twin":1,"b":2,"twin":3}})").find("duplicate key \"twin\""), std::string::npos);
}

TEST(Json, NamesLineAndColumnOfASyntaxFault) {
  EXPECT_NE(fault_of("{\n \"a\": 1,\n}").find("line 3, column 1"), std::string::npos)
      << fault_of("{\n \"a\": 1,\n}");
}

TEST(Json, NamesTheKeyWhoseValueIsWrong) {
  EXPECT_NE(fault_of(R"({"a":{"b":1},"c":{"d":[NaN]}})").find("\"c.d\""), std::string::npos);
  EXPECT_NE(fault_of(R"({"theta":1e999})").find("\"theta\""), std::string::npos);
  EXPECT_EQ(fault_of(R"({"a":{"b":1},)").find("\"a"), std::string::npos);
}

// The examples of RFC 7396, appendix A.
TEST(Json, MergesPatches) {
  const char* kExamples[][3] = {{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                                {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                                {R"({"a":"b"})", R"({"a":null})", "{}"},
                                {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                                {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                                {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                                {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                                {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                                {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                                {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                                {R"({"a":"foo"})", "null", "null"},
                                {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                                {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
                                {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const auto& [target, patch, result] : kExamples) {
    Json tree = parse_json(target, "target").value();
    apply_merge_patch(tree, parse_json(patch, "patch").value());
    EXPECT_EQ(tree.excerpt(200), result) << target << " with " << patch;
  }
}

TEST(Json, SaysThatBytesAreNotUtf8) {
  EXPECT_NE(fault_of("{\"a\":\"\xff\"}").find("UTF-8"), std::string::npos);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":NaN}", "[Infinity]", "[1e999]", "// c\n1", "[1] 2", "\"\xff\"", "[01]"}) {
    EXPECT_NE(fault_of(text), "accepted") << text;
  }
  EXPECT_EQ(fault_of("[1e-999]"), "accepted");
}

TEST(Json, RefusesNestingBeyondTheLimit) {
  EXPECT_NE(fault_of(std::string(100000, '[')), "accepted");
  EXPECT_EQ(fault_of(std::string(20, '[') + std::string(20, ']')), "accepted");
}

TEST(Json, ReadsDoublesCorrectlyRounded) {
  for (const double value : {0.1, 1.7976931348623157e308, 5e-324, 9007199254740993.0, 3.141592653589793}) {
    const auto tree = parse_json("[" + to_text(value) + "]", "x");
    ASSERT_TRUE(tree.ok());
    EXPECT_EQ((*tree->array())[0].number(), value);
  }
}

TEST(Json, WrittenTextReadsBackAsTheSameTree) {
  const std::string text = R"({"a":[1,2.5,"q\"\\\n\u0001"],"b":{"c":null,"d":false}})";
  const auto tree = parse_json(text, "x");
  ASSERT_TRUE(tree.ok());
  JsonWriter writer;
  writer.value(*tree);
  const auto again = parse_json(writer.text(), "y");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*tree, *again);
}

TEST(Json, WritesBytesThatAreNotUtf8AsReplacementCharacters) {
  JsonWriter writer;
  writer.value(
      std::string_view("a\xFF"
                       "b"));
  EXPECT_EQ(writer.text(),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(Json, ListsDuplicateKeysWhereAskedTo) {
  std::vector<JsonDuplicate> duplicates;
  const Result<Json> tree =
      parse_json(R"({"a":1,"b":{"c":2,"c":3,"c":4},"a":5})", "text", {.duplicates = &duplicates});
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->excerpt(), R"({"a":5,"b":{"c":4}})");
  ASSERT_EQ(duplicates.size(), 3u);
  EXPECT_EQ(duplicates[0].path, "b.c");
  EXPECT_EQ(duplicates[0].first, Json(std::int64_t{2}));
  EXPECT_EQ(duplicates[2].path, "a");
  EXPECT_EQ(duplicates[2].last, Json(std::int64_t{5}));
}

}  // namespace
}  // namespace outrider::base
