#include "trainer/process/memory_check.h"

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(MemoryCheckTest, ReadsMeminfo) {
  const char text[] = "MemTotal:       24689772 kB\nMemAvailable:    1024 kB\nOdd\nX: kB\n";
  EXPECT_EQ(ReadMeminfo(text, "MemAvailable"), 1024 * 1024);
  EXPECT_EQ(ReadMeminfo(text, "MemFree"), -1);
  EXPECT_EQ(ReadMeminfo(text, "X"), -1);
  EXPECT_GT(AvailableMemory(), 0);
  EXPECT_LT(AvailableMemory(), int64_t{1} << 50) << "no number was found";
}

TEST(MemoryCheckTest, NamesTheBytesNeededAndTheBytesAvailable) {
  const planner::MemoryEstimate estimate{
      .parameters = 1 << 20, .gradients = 1 << 20, .optimizer = 2 << 20, .activations = 3 << 20};
  EXPECT_TRUE(CheckMemory(estimate, 2, 14 << 20, "here").ok());
  EXPECT_EQ(
      CheckMemory(estimate, 2, (14 << 20) - 1, "here").message(),
      "not enough memory for the model: 14680064 bytes (14.0 MiB) are needed by 2 ranks and "
      "14680063 bytes (14.0 MiB) are available here; of each rank's share, 4.0 MiB are parameters, "
      "gradients and optimizer state and 3.0 MiB are activations: use a smaller model, "
      "microBatch or sequence");
}

}  // namespace
}  // namespace muster::trainer
