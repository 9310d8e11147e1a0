#include "operator/scheduler/gang/whole_nodes.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/scheduler/cluster/cluster_model.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

constexpr char kLeaf[] = "network.topology.nvidia.com/leaf";

absl::Time At(double hours) { return absl::UnixEpoch() + absl::Hours(hours); }

std::shared_ptr<SchedulingNode> Node(const std::string& name, int gpus, const std::string& leaf) {
  const Json json = {{"metadata", {{"name", name}, {"labels", {{kLeaf, leaf}}}}},
                     {"status",
                      {{"allocatable",
                        {{"cpu", "8"},
                         {"memory", "64Gi"},
                         {"pods", "10"},
                         {"nvidia.com/gpu", absl::StrCat(gpus)}}},
                       {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  return std::make_shared<SchedulingNode>(ParseSchedulingNode(json).value());
}

SchedulingPod Pod() {
  SchedulingPod pod;
  pod.scheduler_name = PlacedByMuster().scheduler_name;
  return pod;
}

bool FitsNowhere(WholeNodes& nodes, int workers, const SchedulingPod& pod = Pod()) {
  GangRequest request;
  request.per_worker = {1, 0, 0, 1};
  request.min = request.max = workers;
  request.required_level = "leaf";
  return nodes.FitsNowhere(WholeNodes::ShapeOf(request, pod), request, pod);
}

TEST(WholeNodes, NodesThatAreClosedForTheMomentCount) {
  WholeNodes nodes;
  auto closed = Node("a", 1, "x");
  closed->unschedulable = true;
  closed->ready = false;
  closed->taints = {{"node.kubernetes.io/not-ready", "", "NoExecute"}};
  nodes.Put(At(0), "a", closed);
  EXPECT_FALSE(FitsNowhere(nodes, 1));
  EXPECT_TRUE(FitsNowhere(nodes, 2));
  nodes.Put(At(0), "b", Node("b", 1, "x"));
  EXPECT_FALSE(FitsNowhere(nodes, 2));
}

TEST(WholeNodes, WhatKeepsAPodOffANodeForGoodDoesNot) {
  WholeNodes nodes;
  auto kept = Node("a", 1, "x");
  kept->taints = {{"team", "other", "NoSchedule"}};
  nodes.Put(At(0), "a", kept);
  EXPECT_TRUE(FitsNowhere(nodes, 1));
  SchedulingPod tolerant = Pod();
  auto wants = std::make_shared<PodConstraints>();
  wants->tolerations = {{"", "Exists", "", ""}};
  tolerant.constraints = wants;
  EXPECT_FALSE(FitsNowhere(nodes, 1, tolerant));
}

TEST(WholeNodes, ANodeThatHasGoneCountsForADay) {
  WholeNodes nodes(absl::Hours(24));
  nodes.Put(At(0), "a", Node("a", 1, "x"));
  nodes.Put(At(0), "b", Node("b", 1, "x"));
  nodes.Put(At(1), "b", nullptr);
  EXPECT_FALSE(FitsNowhere(nodes, 2));
  // The node comes back whole and then offers no GPU: its earlier size still counts.
  nodes.Put(At(2), "b", Node("b", 1, "x"));
  nodes.Put(At(3), "b", Node("b", 0, "x"));
  nodes.Forget(At(26.9));
  EXPECT_FALSE(FitsNowhere(nodes, 2));
  const uint64_t before = nodes.version();
  nodes.Forget(At(27));
  EXPECT_NE(nodes.version(), before);
  EXPECT_TRUE(FitsNowhere(nodes, 2));
}

TEST(WholeNodes, TheNewestOfTheGoneNodesAreKept) {
  WholeNodes nodes(absl::Hours(24), 2);
  for (int i = 0; i < 3; ++i) {
    const std::string name = absl::StrCat("n", i);
    nodes.Put(At(i), name, Node(name, 1, "x"));
    nodes.Put(At(i), name, nullptr);
  }
  EXPECT_FALSE(FitsNowhere(nodes, 2));
  EXPECT_TRUE(FitsNowhere(nodes, 3));
}

class FitsNowhereTest : public SchedulerFixture {};

// The operator writes it to the pods, where an autoscaler looks, and goes on with the next job.
TEST_F(FitsNowhereTest, TheOperatorTellsTheHeadAndGoesOnWithTheNext) {
  AddZones(1);
  AddQueue("team", 16);
  AddJob("running", 3, 3, Json(), "team");
  for (int i = 0; i < 3; ++i) AddPod("running", i);
  ASSERT_EQ(RunOnce(), 3);
  AddJob("wide", 5, 5, Json(), "team");
  for (int i = 0; i < 5; ++i) AddPod("wide", i);
  RunOnce();
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "FitsNowhere");
  EXPECT_THAT(Sentence(), HasSubstr("even if all of them were empty"));
  EXPECT_FALSE(scheduler_->verdicts().Of(uid()).queued);
  const auto pod = ParsePodRecord(memory_->Get(kube::kPods, {"default", "wide-0-1"}).value());
  EXPECT_EQ(pod->unscheduled_message, Sentence());
  const std::string wide = uid();
  AddJob("next", 1, 1, Json(), "team");
  AddPod("next", 0);
  EXPECT_EQ(RunOnce(), 1) << "it is held up by nobody";
  // A node is added: the job now fits when others end.
  AddNode("c0", 1);
  RunOnce();
  EXPECT_NE(scheduler_->verdicts().Of(wide).reason, "FitsNowhere");
}

}  // namespace
}  // namespace muster::control
