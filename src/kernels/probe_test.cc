#include "kernels/probe.h"

#include <gtest/gtest.h>

#include "kernels/kernel_table.h"

namespace outrider::kernels {
namespace {

TEST(Probe, EveryTargetHasARateForFloatsAndReadsMemory) {
  for (const Target target : available_targets()) {
    Executor executor(target, 2, Arithmetic::Float32);
    EXPECT_GT(probe_dot_peak(executor, DotKind::Fp32, 0), 0);
    EXPECT_GT(BandwidthProbe(PageSize::Small, 4 << 20).read(executor, 0), 0);
  }
}

TEST(Probe, CountsOperationsInProportionToRounds) {
  for (const Target target : available_targets()) {
    Executor executor(target, 1, Arithmetic::Float32);
    for (const DotKind kind : {DotKind::Fp32, DotKind::Bf16, DotKind::Int8}) {
      EXPECT_EQ(executor.table().dot_burst(kind, 10), 10 * executor.table().dot_burst(kind, 1));
    }
  }
}

}  // namespace
}  // namespace outrider::kernels
