#include "agent/worker/ranks/near_cpus.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<NumaReading>& TwoNodes() {
  static const auto& nodes = *new std::vector<NumaReading>{{.index = 0, .cpus = "0-1,4-5"},
                                                           {.index = 1, .cpus = "2-3,6-7"}};
  return nodes;
}

TEST(NearCpusTest, AreThoseOfTheNodeThatTheWorkerMayUse) {
  EXPECT_THAT(NearCpus(1, TwoNodes(), {0, 1, 2, 3, 4, 5, 6, 7}), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(NearCpus(0, TwoNodes(), {1, 2, 4}), ElementsAre(1, 4));
}

TEST(NearCpusTest, ARankRunsAnywhereIfNothingBetterIsKnown) {
  const std::vector<int> all = {0, 1, 2, 3};
  EXPECT_THAT(NearCpus(std::nullopt, TwoNodes(), all), IsEmpty());
  EXPECT_THAT(NearCpus(7, TwoNodes(), all), IsEmpty());
  EXPECT_THAT(NearCpus(1, TwoNodes(), {0, 1}), IsEmpty()) << "none of the node's is allowed";
  EXPECT_THAT(NearCpus(0, TwoNodes(), {0, 1}), IsEmpty()) << "it runs nowhere else anyway";
  EXPECT_THAT(NearCpus(0, {}, all), IsEmpty());
}

TEST(ParseCpuListTest, ReadsTheKernelsListsAlone) {
  EXPECT_THAT(ParseCpuList("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(ParseCpuList("5"), ElementsAre(5));
  for (const char* bad : {"", "a", "1-", "-1", "0-1-2", "0-99999999999", "0-100000"}) {
    EXPECT_THAT(ParseCpuList(bad), IsEmpty()) << bad;
  }
}

TEST(AllowedCpusTest, ThisProcessMayRunSomewhere) { EXPECT_FALSE(AllowedCpus().empty()); }

}  // namespace
}  // namespace muster::agent
