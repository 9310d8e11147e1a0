#include "operator/reconcile/fan_out.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(FanOutTest, InOrderIsInOrder) {
  std::vector<int> order;
  FanOut::InOrder().Run(3, [&](int i) { order.push_back(i); });
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(FanOutTest, EachIsCalledOnceForEveryCaller) {
  ThreadFanOut fan_out(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> calls(round);
        fan_out.Run(round, [&](int i) { ++calls[i]; });
        EXPECT_THAT(std::vector<int>(calls.begin(), calls.end()), Each(1));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(FanOutTest, SeveralAreUnderWayAtOnce) {
  ThreadFanOut fan_out(3);
  std::atomic<int> under_way = 0;
  // Each call waits for all: one at a time they would never end.
  fan_out.Run(4, [&](int) {
    ++under_way;
    while (under_way < 4) std::this_thread::yield();
  });
  EXPECT_EQ(under_way, 4);
}

TEST(FanOutTest, WithoutHelpersTheCallerDoesItAll) {
  ThreadFanOut fan_out(0);
  std::set<std::thread::id> threads;
  fan_out.Run(5, [&](int) { threads.insert(std::this_thread::get_id()); });
  EXPECT_THAT(threads, ElementsAre(std::this_thread::get_id()));
}

}  // namespace
}  // namespace muster::control
