#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/strings.h"

namespace outrider::base {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "mapped_file_test." + std::to_string(::getpid());
    std::ofstream(path_) << std::string(64 << 10, 'x');
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

int sum(const MappedFile& file) {
  int total = 0;
  for (const std::byte byte : file.bytes()) total += std::to_integer<int>(byte);
  return total;
}

TEST_F(MappedFileTest, AFileThatStaysAsItWasPasses) {
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(sum(*file), (64 << 10) * 'x');
  EXPECT_TRUE(file->check_unchanged().ok());
}

TEST_F(MappedFileTest, ReadingACutFileGivesZerosAndARefusalThatNamesIt) {
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, 8 << 10);
  EXPECT_EQ(sum(*file), (8 << 10) * 'x');
  const auto check = file->check_unchanged();
  ASSERT_FALSE(check.ok());
  EXPECT_NE(to_string(check.error()).find(path_), std::string::npos);
}

TEST_F(MappedFileTest, ACutFileIsToldEvenIfItsOldSizeIsRestored) {
  auto opened = MappedFile::open(path_);
  ASSERT_TRUE(opened.ok());
  const MappedFile file = std::move(*opened);  // the guard must move with it
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(sum(file), 0);
  std::filesystem::resize_file(path_, 64 << 10);
  EXPECT_FALSE(file.check_unchanged().ok());
}

TEST(MappedFileDeathTest, ABusErrorElsewhereStillEndsTheProcess) {
  const std::string path = testing::TempDir() + "mapped_file_test_other." + std::to_string(::getpid());
  std::ofstream(path) << "x";
  { ASSERT_TRUE(MappedFile::open(path).ok()); }
  std::filesystem::remove(path);
  EXPECT_DEATH(::kill(::getpid(), SIGBUS), "");
}

TEST(Printable, EscapesWhatSteersATerminal) {
  EXPECT_EQ(printable("a\n\x1b[31m"), "a\\x0a\\x1b[31m");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\xc2\\x9b1m");  // the one-character CSI
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "abc"),
            "\\xe2\\x80\\xaeabc");  // right-to-left override
  EXPECT_EQ(printable("\xc2\xa0\xe2\x82\xac"), "\xc2\xa0\xe2\x82\xac");
}

}  // namespace
}  // namespace outrider::base
