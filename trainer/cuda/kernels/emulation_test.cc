#include "trainer/cuda/kernels/emulation.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer::cuda {
namespace {

struct Shared {
  int values[64];
};

// Each thread reads what its neighbour wrote; `synced` kernels meet between.
std::vector<int> ReadNeighbours(ThreadOrder order, bool synced) {
  SetEmulatedThreadOrder(order);
  std::vector<int> seen(64);
  EmulateBlocks<Shared>(1, 64, [&](const Thread& thread, Shared& shared) {
    shared.values[thread.index()] = thread.index();
    if (synced) thread.Sync();
    seen[thread.index()] = shared.values[(thread.index() + 1) % 64];
  });
  SetEmulatedThreadOrder(ThreadOrder::kAscending);
  return seen;
}

TEST(EmulationTest, ABarrierMakesWritesVisibleInEveryOrder) {
  std::vector<int> expected(64);
  for (int i = 0; i < 64; ++i) expected[i] = (i + 1) % 64;
  EXPECT_EQ(ReadNeighbours(ThreadOrder::kAscending, true), expected);
  EXPECT_EQ(ReadNeighbours(ThreadOrder::kDescending, true), expected);
  EXPECT_EQ(ReadNeighbours(ThreadOrder::kShuffled, true), expected);
}

TEST(EmulationTest, AMissingBarrierShowsInTheOrders) {
  EXPECT_NE(ReadNeighbours(ThreadOrder::kAscending, false),
            ReadNeighbours(ThreadOrder::kDescending, false));
}

TEST(EmulationTest, AShuffleGivesTheValueOfTheOtherLane) {
  std::vector<double> seen(64);
  EmulateBlocks<Shared>(3, 64, [&](const Thread& thread, Shared&) {
    seen[thread.index()] = thread.ShuffleXor(thread.index() + 0.5, 5);
  });
  for (int i = 0; i < 64; ++i) EXPECT_EQ(seen[i], (i ^ 5) + 0.5);
}

TEST(EmulationTest, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> runs(5 * 96);
  EmulateBlocks<Shared>(5, 96, [&](const Thread& thread, Shared&) {
    EXPECT_EQ(thread.blocks(), 5);
    EXPECT_EQ(thread.threads(), 96);
    ++runs[thread.block() * 96 + thread.index()];
  });
  EXPECT_EQ(runs, std::vector<int>(5 * 96, 1));
}

TEST(EmulationDeathTest, ABarrierThatSomeThreadsMissEndsTheProcess) {
  EXPECT_DEATH(EmulateBlocks<Shared>(1, 64,
                                     [](const Thread& thread, Shared&) {
                                       if (thread.index() < 40) thread.Sync();
                                     }),
               "emulated kernel: block 0: not all threads reach Sync()");
  EXPECT_DEATH(EmulateBlocks<Shared>(1, 64,
                                     [](const Thread& thread, Shared&) {
                                       if (thread.index() < 40) (void)thread.ShuffleXor(1, 1);
                                     }),
               "emulated kernel: block 0: not all lanes of a warp reach a shuffle");
}

}  // namespace
}  // namespace muster::trainer::cuda
