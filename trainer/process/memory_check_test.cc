#include "trainer/process/memory_check.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
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

// Regression: nearly half of the bytes had no name, and zero and offload were never proposed.
TEST(MemoryCheckTest, NamesTheBytesNeededAndTheBytesAvailable) {
  const planner::MemoryEstimate estimate{.parameters = 1 << 20,
                                         .casts = 1 << 19,
                                         .gradients = 1 << 20,
                                         .optimizer = 2 << 20,
                                         .activations = 3 << 20,
                                         .logits = 1 << 19,
                                         .checkpoint_copy = 4 << 20,
                                         .fixed = 8 << 20};
  constexpr int64_t kNeed = 40 << 20;
  EXPECT_TRUE(CheckMemory(estimate, 2, kNeed, "here").ok());
  const std::string parts =
      "are available here; each rank needs 1.5 MiB for weights, 1.0 MiB for gradients, 2.0 MiB for "
      "optimizer state, 3.0 MiB for activations, 512.0 KiB for logits, "
      "4.0 MiB for the copy of a checkpoint and 8.0 MiB for the program: ";
  const std::string facts =
      "not enough memory for the model: 41943040 bytes are needed by 2 ranks and 41943039 bytes " +
      parts;
  const auto message = [&](const std::vector<MemoryOption>& options, int64_t available) {
    return std::string(CheckMemory(estimate, 2, available, "here", options).message());
  };
  EXPECT_EQ(message({}, kNeed - 1), facts + "use a smaller model, microBatch or sequence");
  const std::vector<MemoryOption> options = {{"zero: 1", {.fixed = 20 << 20}},
                                             {"zero: 2", {.fixed = 15 << 20}},
                                             {"zero: 3", {.fixed = 10 << 20}}};
  EXPECT_EQ(message(options, kNeed - 1),
            facts +
                "zero: 2 would need 30.0 MiB in all; or use a smaller model, microBatch or "
                "sequence");
  EXPECT_THAT(
      message(options, 1 << 20),
      ::testing::EndsWith("use a smaller model, microBatch or sequence; zero: 3 would still "
                          "need 20.0 MiB in all"));
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
                          "among 8: not enough memory for the model: 16.0 MiB"),
      0u)
      << none.message();
}

}  // namespace
}  // namespace muster::trainer
