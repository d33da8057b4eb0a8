#include "base/fields.h"

#include <gtest/gtest.h>

namespace outrider::base {
namespace {

struct Inner {
  int a = 0;
  std::optional<int> b;
};
struct Sample {
  std::optional<std::int64_t> count;
  std::string name;
  std::vector<int> list;
  Inner inner;
  bool flag = false;
  std::optional<Json> json;
};
static_assert(member_count<Inner>() == 2);
static_assert(member_count<Sample>() == 6);

struct Listed {
  int width = 3;
  std::optional<std::string> name;
};

}  // namespace

template <>
struct Fields<Listed> {
  static constexpr auto list =
      std::tuple{field("width", &Listed::width, 'w'), field("name", &Listed::name, 'n')};
};
OUTRIDER_LISTS_EVERY_FIELD(Listed);

namespace {

TEST(Fields, VisitsEveryMemberInTheListsOrder) {
  std::string seen;
  const Listed listed{.width = 4, .name = {}};
  for_each_field(listed, [&](const auto& field, const auto& value) {
    seen += std::string(field.name) + field.note + json_of(value).excerpt() + " ";
  });
  EXPECT_EQ(seen, "widthw4 namennull ");
}

TEST(Fields, FingerprintIsFnv1aOf64Bits) {  // test vectors of the FNV draft
  EXPECT_EQ(fingerprint_of(""), "cbf29ce484222325");
  EXPECT_EQ(fingerprint_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(fingerprint_of("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace outrider::base
