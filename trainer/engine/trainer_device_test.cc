// Tests what a trainer says of the device on which it computes.
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/trainer_fixture.h"

namespace muster::trainer {
namespace {

TEST_F(TrainerTest, ARankOnADeviceReportsItsMemoryWithEveryStep) {
  options_.device = FakeDevice();
  SetFakeDeviceMemory(int64_t{1} << 30);
  auto rank = Start();
  Prepare({rank.get()});
  Go({rank.get()}, Fresh(1));
  const v1alpha1::TrainerFinished finished = rank->AwaitFinished();
  EXPECT_TRUE(finished.succeeded()) << finished.message();
  SetFakeDeviceMemory(std::numeric_limits<int64_t>::max());
  const std::vector<v1alpha1::StepReport> reports = rank->outbox().Reports();
  ASSERT_EQ(reports.size(), kSteps);
  for (const v1alpha1::StepReport& report : reports) {
    ASSERT_TRUE(report.has_device_memory());
    EXPECT_EQ(report.device_memory().total(), int64_t{1} << 30);
    EXPECT_GE(report.device_memory().reserved(), 704 * 1024);
    EXPECT_GE(report.device_memory().allocated_peak(), report.device_memory().reserved());
    EXPECT_EQ(report.device_memory().retries(), 0);
  }
}

TEST_F(TrainerTest, ARankOnACpuReportsNone) {
  auto rank = Start();
  Prepare({rank.get()});
  Go({rank.get()}, Fresh(1));
  EXPECT_TRUE(rank->AwaitFinished().succeeded());
  for (const v1alpha1::StepReport& report : rank->outbox().Reports()) {
    EXPECT_FALSE(report.has_device_memory());
  }
}

}  // namespace
}  // namespace muster::trainer
