#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::Contains;
using testing::Pair;

class CapacityTest : public SchedulerFixture {};

TEST_F(CapacityTest, EveryGpuCountsOnceByWhatKeepsItFromAWholeNode) {
  AddNode("busy", 2);
  AddJobWithPods("small", 1, Json::object());
  RunOnce();
  AddNode("idle", 4);
  AddNode("closed", 8);
  Cordon("closed");
  RunOnce();
  const CapacityReport report = scheduler_->Capacity();
  EXPECT_EQ(report.gpus_used, 1);
  EXPECT_EQ(report.gpus_fragmented, 1);
  EXPECT_EQ(report.gpus_free, 4);
  EXPECT_EQ(report.gpus_closed, 8);
}

TEST_F(CapacityTest, EveryNodeCountsOnceByItsFirstTrouble) {
  AddNode("well", 1);
  AddNode("cordoned", 1);
  Cordon("cordoned");
  AddNode("leaving", 1, Json::object(), Json::parse(R"({"unschedulable": true, "taints": [
                          {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]})"));
  RunOnce();
  const CapacityReport report = scheduler_->Capacity();
  EXPECT_THAT(report.nodes, Contains(Pair("Usable", 1)));
  EXPECT_THAT(report.nodes, Contains(Pair("NodeUnschedulable", 1)));
  EXPECT_THAT(report.nodes, Contains(Pair("NodeLeaving", 1)));
  EXPECT_THAT(report.nodes, Contains(Pair("NodeNotReady", 0)));
}

}  // namespace
}  // namespace muster::control
