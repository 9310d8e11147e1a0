#include "agent/worker/ranks/gpu_plan.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Distances = std::vector<std::vector<int>>;

// Bridges of NVLink between 0 and 2, and between 1 and 3.
GpuDevices Four() {
  GpuDevices four{.driver_version = "580.65"};
  for (int i = 0; i < 4; ++i) {
    four.devices.push_back({.uuid = "GPU-" + std::string(1, static_cast<char>('a' + i)),
                            .gpu = i,
                            .numa_node = i / 2});
  }
  four.distances = {{0, 6, 1, 6}, {6, 0, 6, 1}, {1, 6, 0, 6}, {6, 1, 6, 0}};
  return four;
}

std::string Plan(const GpuDevices& there, const std::string& visible, int gpus) {
  const auto plan = PlanGpus(there, visible, gpus);
  if (!plan.ok()) return std::string(plan.status().message());
  return absl::StrJoin(*plan, " ",
                       [](std::string* out, const GpuDevice& device) { out->append(device.uuid); });
}

TEST(PlanGpusTest, RanksNextToEachOtherHaveNeighbouringGpus) {
  EXPECT_EQ(Plan(Four(), "all", 4), "GPU-a GPU-c GPU-b GPU-d");
  EXPECT_EQ(Plan(Four(), "", 2), "GPU-a GPU-c");
  EXPECT_EQ(PlanGpus(Four(), "", 4)->at(1).numa_node, 1);
}

TEST(PlanGpusTest, AWorkerHasOnlyTheGpusThatItWasGiven) {
  EXPECT_EQ(Plan(Four(), "GPU-d,GPU-b", 2), "GPU-b GPU-d");
  EXPECT_EQ(Plan(Four(), "GPU-d", 1), "GPU-d");
  EXPECT_EQ(Plan(Four(), "6,7", 1), "GPU-a") << "the machine's numbers are not the container's";
}

TEST(PlanGpusTest, FewerGpusThanRanksAreRefusedInWords) {
  EXPECT_EQ(Plan(Four(), "GPU-a,GPU-b", 3),
            "workers.gpus: is 3, and this worker sees 2 (GPU-a, GPU-b) with driver 580.65: each "
            "rank computes on a GPU of its own, so either the driver has lost one, or the node "
            "offers more than it has");
  EXPECT_EQ(PlanGpus(GpuDevices{}, "", 1).status().code(), absl::StatusCode::kUnavailable);
}

TEST(PlanGpusTest, WithoutNvmlTheContainersListDecidesOrTheTrainer) {
  const GpuDevices none{.absence = "NVML is not here"};
  EXPECT_EQ(Plan(none, "GPU-x,MIG-y", 2), "GPU-x MIG-y");
  EXPECT_EQ(Plan(none, "GPU-x,GPU-y", 1), "GPU-x");
  for (const char* unknown : {"", "all", "void", "0,1", "GPU-x"}) {
    EXPECT_EQ(Plan(none, unknown, 2), "") << unknown;
  }
}

TEST(OrderByLinksTest, EqualDistancesKeepTheDriversOrder) {
  EXPECT_THAT(OrderByLinks({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, 3), ElementsAre(0, 1, 2));
}

// Two bridges of NVLink, between 0 and 2 and between 1 and 3.
TEST(OrderByLinksTest, BridgedNeighboursAreNextToEachOther) {
  const Distances distances = {{0, 6, 1, 6}, {6, 0, 6, 1}, {1, 6, 0, 6}, {6, 1, 6, 0}};
  EXPECT_THAT(OrderByLinks(distances, 4), ElementsAre(0, 2, 1, 3));
}

TEST(OrderByLinksTest, FewerThanThereAreAreTheNearest) {
  const Distances distances = {{0, 7, 7}, {7, 0, 1}, {7, 1, 0}};
  EXPECT_THAT(OrderByLinks(distances, 2), ElementsAre(1, 2));
}

// From 0 the nearest is 1, and the way back from the end is long: another start has a shorter ring.
TEST(OrderByLinksTest, TheShortestRingWins) {
  const Distances distances = {{0, 2, 3, 9}, {2, 0, 2, 3}, {3, 2, 0, 2}, {9, 3, 2, 0}};
  EXPECT_THAT(OrderByLinks(distances, 4), ElementsAre(1, 0, 2, 3));
}

TEST(OrderByLinksTest, NoneAreOrderedWhereThereAreNone) {
  EXPECT_THAT(OrderByLinks({}, 2), IsEmpty());
  EXPECT_THAT(OrderByLinks({{0}}, 0), IsEmpty());
  EXPECT_THAT(OrderByLinks({{0}}, 2), ElementsAre(0));
}

}  // namespace
}  // namespace muster::agent
