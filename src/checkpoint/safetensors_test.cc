#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/random.h"

namespace outrider::checkpoint {
namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + rest;
}
std::string file_of(const std::string& json, std::size_t data_bytes) {
  return with_length(json.size(), json + std::string(data_bytes, 'd'));
}

base::Result<SafetensorsHeader> parse(const std::string& file, const SafetensorsLimits& limits = {}) {
  return parse_safetensors(std::as_bytes(std::span(file)), "x.safetensors", limits);
}
std::string fault_of(const std::string& file) {
  const auto header = parse(file);
  return header.ok() ? "accepted" : base::to_string(header.error());
}
void expect_fault(const std::string& json, std::size_t data_bytes, std::initializer_list<const char*> words) {
  const std::string fault = fault_of(file_of(json, data_bytes));
  for (const char* word : words)
    EXPECT_NE(fault.find(word), std::string::npos) << word << " is not in: " << fault;
}

constexpr char kTwo[] =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

TEST(Safetensors, ReadsTheVectorsOfTheFormat) {
  using namespace std::string_literals;
  const auto empty = parse("\x08\0\0\0\0\0\0\0{}      "s);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->entries.empty());
  EXPECT_EQ(empty->data_start, 16);
  const auto one = parse(with_length(
      0x38, "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  \0\0\x80\x3f\0\0\0\x40"s));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->entries[0].name, "a");
  EXPECT_EQ(one->entries[0].dtype, tensor::Dtype::F32);
  EXPECT_EQ(one->entries[0].shape, std::vector<std::int64_t>{2});
  EXPECT_EQ(one->data_start, 64);
}

TEST(Safetensors, ListsEntriesInTheOrderOfTheDataWithMetadata) {
  const auto header = parse(file_of(kTwo, 20));
  ASSERT_TRUE(header.ok()) << base::to_string(header.error());
  EXPECT_EQ(header->entries[0].name, "a");
  EXPECT_EQ(header->entries[1].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(header->entries[1].end, 20);
  EXPECT_EQ(header->metadata[0].second, "pt");
}

TEST(Safetensors, RefusesEveryHeaderLengthThatCannotBe) {
  const std::string json = "{}";
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{100'000'001},
        std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    const std::string fault = fault_of(with_length(length, json));
    EXPECT_NE(fault.find("header length = " + std::to_string(length)), std::string::npos) << fault;
  }
  EXPECT_EQ(fault_of(with_length(2, json)), "accepted");
  SafetensorsLimits small;
  small.header_bytes_max = 10;
  const std::string long_header = file_of("{         }", 0);
  EXPECT_FALSE(parse(long_header, small).ok());
}

TEST(Safetensors, RefusesShapesThatOverflowOrAreNoShapes) {
  const auto entry = [](const std::string& shape) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]}})";
  };
  EXPECT_EQ(fault_of(file_of(entry("[]"), 4)), "accepted");
  EXPECT_EQ(fault_of(file_of(entry("[1,1,1,1,1,1,1,1]"), 4)), "accepted");
  for (const char* shape : {"[4294967296,4294967296]",
                            "[4194305,4194305,211106198978564]",
                            "[9223372036854775807]",
                            "[9223372036854775808]",
                            "[18446744073709551616]",
                            "[-1]",
                            "[1.0]",
                            "[1e0]",
                            "[\"1\"]",
                            "[[1]]",
                            "[null]",
                            "[true]",
                            "1",
                            "\"1\"",
                            "null",
                            "{}",
                            "[1,1,1,1,1,1,1,1,1]",
                            "[2]",
                            "[0]",
                            "[{\"a\":[1]}]"}) {
    expect_fault(entry(shape), 4, {"x.safetensors: tensor t"});
  }
}

TEST(Safetensors, RefusesOffsetsThatDoNotCoverTheDataExactly) {
  const auto bytes = [](const char* name, int begin, int end) {
    return "\"" + std::string(name) + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
           R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  const auto two = [&](int b1, int e1, int b2, int e2) {
    return "{" + bytes("a", b1, e1) + "," + bytes("b", b2, e2) + "}";
  };
  EXPECT_EQ(fault_of(file_of(two(0, 4, 4, 8), 8)), "accepted");
  EXPECT_EQ(fault_of(file_of(two(4, 8, 0, 4), 8)), "accepted");
  EXPECT_EQ(fault_of(file_of(two(0, 0, 0, 8), 8)), "accepted");  // an empty tensor at its own place
  EXPECT_EQ(fault_of(file_of(two(0, 8, 8, 8), 8)), "accepted");
  expect_fault(two(0, 4, 5, 8), 8, {"tensor b", "hole", "4 to 5"});
  expect_fault(two(1, 4, 4, 8), 8, {"tensor a", "hole", "0 to 1"});
  expect_fault(two(0, 5, 4, 8), 8, {"tensor b", "overlaps tensor a"});
  expect_fault(two(0, 8, 0, 8), 8, {"tensor b", "overlaps tensor a"});
  expect_fault(two(0, 8, 4, 4), 8, {"tensor b", "overlaps tensor a"});
  expect_fault(two(0, 4, 4, 8), 11, {"3 bytes after the last tensor"});
  expect_fault(two(0, 4, 4, 8), 7, {"tensor b", "1 bytes beyond the file"});
  expect_fault(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4,
               {"tensor a", "ends before it begins"});
}

TEST(Safetensors, RefusesFieldsOfAnotherKindMissingOrTwice) {
  expect_fault(R"({"a":{"dtype":1,"shape":[4],"data_offsets":[0,4]}})", 4, {"tensor a: dtype"});
  expect_fault(R"({"a":{"dtype":{"dtype":"U8"},"shape":[4],"data_offsets":[0,4]}})", 4, {"tensor a: dtype"});
  expect_fault(R"({"a":{"dtype":"u8","shape":[4],"data_offsets":[0,4]}})", 4, {"tensor a: dtype = u8"});
  expect_fault(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", 4, {"tensor a: dtype", "missing"});
  expect_fault(R"({"a":{"dtype":"U8","shape":[4]}})", 4, {"tensor a: data_offsets", "missing"});
  expect_fault(R"({"a":{}})", 0, {"dtype", "shape", "data_offsets"});
  expect_fault(R"({"a":[1,[2]],"b":null,"c":"x"})", 0, {"tensor a", "tensor b", "tensor c"});
  expect_fault(R"({"a":{"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]}})", 4,
               {"tensor a: shape", "duplicate"});
  expect_fault(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      2, {"tensor a", "duplicate"});
  expect_fault(R"({"__metadata__":{"a":1,"b":["x"],"c":null}})", 0,
               {"__metadata__: a", "__metadata__: b", "__metadata__: c"});
  expect_fault(R"({"__metadata__":["x"]})", 0, {"__metadata__", "array"});
  expect_fault(R"({"__metadata__":{},"__metadata__":{}})", 0, {"__metadata__", "duplicate"});
  expect_fault(R"({"__metadata__":{"a":"1","a":"2"}})", 0, {"__metadata__: a", "duplicate"});
}

TEST(Safetensors, TellsOfAFieldThatTheFormatDoesNotKnow) {
  const auto header = parse(file_of(
      R"({"a":{"order":{"shape":[[-1]]},"dtype":"U8","x":1,"shape":[1],"y":"z","data_offsets":[0,1]}})", 1));
  ASSERT_TRUE(header.ok()) << base::to_string(header.error());
  EXPECT_EQ(header->warnings.size(), 3u);
  EXPECT_NE(header->warnings[0].find("order"), std::string::npos);
}

TEST(Safetensors, ListsTwentyProblemsAndCountsTheRest) {
  std::string json = "{";
  for (int i = 0; i < 100; ++i)
    json += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) +
            R"(":{"dtype":"F12","shape":[],"data_offsets":[0,0]})";
  const auto header = parse(file_of(json + "}", 0));
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().problems.size(), 21u);
  EXPECT_NE(header.error().problems.back().rule.find("100 problems"), std::string::npos);
}

TEST(Safetensors, StopsAtLongNamesAndManyTensors) {
  expect_fault("{\"" + std::string(10 << 20, 'n') + "\":1}", 0, {"header: byte", "1024", "nnn"});
  EXPECT_LT(fault_of(file_of("{\"" + std::string(10 << 20, 'n') + "\":1}", 0)).size(), 1000u);
  SafetensorsLimits limits;
  limits.tensors_max = 1;
  EXPECT_FALSE(parse(file_of(kTwo, 20), limits).ok());
  limits.metadata_max = 0;
  limits.tensors_max = 2;
  EXPECT_FALSE(parse(file_of(kTwo, 20), limits).ok());
  limits.metadata_max = 1;
  EXPECT_TRUE(parse(file_of(kTwo, 20), limits).ok());
}

TEST(Safetensors, RefusesWhatIsNotStrictJson) {
  for (const char* json :
       {"{\"a\":{}", "{\"a\":{},}", "{}{}", "{} x", "{\"\\ud800\":{}}", "{\"\xff\":{}}",
        "{\"\xed\xa0\x80\":{}}", "{a:1}", "{//c\n}", " {}", "\xef\xbb\xbf{}", "{\"a\":NaN}"}) {
    EXPECT_NE(fault_of(file_of(json, 0)), "accepted") << json;
  }
  expect_fault("{\"\xff\":{}}", 0, {"UTF-8"});
  expect_fault(std::string(9000, '{'), 0, {"header"});
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "[";
  expect_fault(deep, 0, {"header"});
}

// Cut anywhere, a file is refused: its length is part of what it says.
TEST(Safetensors, RefusesEveryPrefixOfAFile) {
  const std::string file = file_of(kTwo, 20);
  ASSERT_EQ(fault_of(file), "accepted");
  for (std::size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(fault_of(file.substr(0, length)), "accepted") << length;
}

// With any bytes changed, the answer is a refusal or a header whose entries lie in the file and cover it.
TEST(Safetensors, KeepsItsPromisesWhateverBytesChange) {
  const std::string file = file_of(kTwo, 20);
  int accepted = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    std::string changed = file;
    const auto words = base::philox(round, {0, 0, 0, 0});
    for (std::uint32_t i = 0; i <= words[0] % 3; ++i)
      changed[words[i + 1] % (file.size() - 20)] = "0123456789[]{},\":-.eFBU8\xff\0"[words[i + 1] / 256 % 27];
    const auto header = parse(changed);
    if (!header.ok()) continue;
    ++accepted;
    std::int64_t at = 0;
    for (const SafetensorsEntry& entry : header->entries) {
      EXPECT_EQ(entry.begin, at);
      at = entry.end;
    }
    EXPECT_EQ(header->data_start + at, static_cast<std::int64_t>(changed.size()));
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace outrider::checkpoint
