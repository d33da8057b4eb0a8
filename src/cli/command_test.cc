// What holds for every command: how a run ends that could not be finished.
#include "cli/command.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tensor/buffer.h"

namespace outrider::cli {
namespace {

TEST(Command, EndsAsAFailureWhereMemoryRunsOut) {
  const Command greedy{"greedy", "", [](std::span<const std::string>) {
                         const tensor::Buffer buffer(std::size_t{1} << 60);
                         return static_cast<int>(buffer.size());
                       }};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command(greedy, {}), kFailed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("failed: out of memory"), std::string::npos);
}

TEST(Command, SaysTheVersionAsACommandAndAsAFlag) {
  std::vector<std::string> said;
  for (const char* word : {"version", "--version"}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run_program({word}), kDone);
    said.push_back(testing::internal::GetCapturedStdout());
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_TRUE(said[0].starts_with("outrider ")) << said[0];
}

}  // namespace
}  // namespace outrider::cli
