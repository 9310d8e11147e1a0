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

// A job of eight ranks with zero: 3 needs twice the memory on each of four.
TEST(MemoryCheckTest, ARoundOfFewerRanksIsJoinedOnlyWithRoomForItsLargerParts) {
  const auto check = [](int among) {
    return CheckMemory({.optimizer = (int64_t{64} << 20) / among}, 1, 10 << 20, "here");
  };
  EXPECT_TRUE(CheckRound(8, 8, check).ok());
  EXPECT_TRUE(CheckRound(16, 8, check).ok());
  EXPECT_TRUE(CheckRound(7, 8, check).ok());
  const absl::Status none = CheckRound(4, 8, check);
  EXPECT_TRUE(absl::IsResourceExhausted(none));
  EXPECT_EQ(
      none.message().find("this round divides the state among 4 ranks, a round of all workers "
                          "among 8: not enough memory for the model: 16777216 bytes"),
      0u)
      << none.message();
}

}  // namespace
}  // namespace muster::trainer
