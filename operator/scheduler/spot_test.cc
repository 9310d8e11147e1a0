// Tests jobs that bound their workers on spot nodes, from the nodes' labels to the pods' places.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class SpotTest : public SchedulerFixture {
 protected:
  void AddSpotNode(const std::string& name, int gpus) {
    AddNode(name, gpus, {{"karpenter.sh/capacity-type", "spot"}});
  }
  void AddSpotJob(int count, int min, const Json& spot) {
    AddJob("gpt", count, min, Json(), "", {{"spot", spot}});
    for (int i = 0; i < count; ++i) AddPod("gpt", i);
  }
  std::string Reason() { return scheduler_->verdicts().Of(uid()).reason; }
};

TEST_F(SpotTest, AtMostTheFractionGoesToSpotNodesAndTheLastWorkersGoThere) {
  AddSpotNode("a-spot", 8);
  AddNode("b", 4);
  AddSpotJob(5, 5, {{"maxFraction", 0.5}});
  EXPECT_EQ(RunOnce(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(NodeOf(absl::StrCat("gpt-", i, "-1")), i < 3 ? "b" : "a-spot") << i;
  }
}

TEST_F(SpotTest, MustersLabelTakesANodeOutOfTheSpotNodes) {
  AddNode("a", 8,
          {{"karpenter.sh/capacity-type", "spot"}, {"muster.dev/capacity-type", "on-demand"}});
  AddSpotJob(4, 4, {{"onDemandFloor", 4}});
  EXPECT_EQ(RunOnce(), 4);
}

TEST_F(SpotTest, AFloorThatDoesNotFitIsNamed) {
  AddSpotNode("spot", 8);
  AddNode("a", 1);
  AddSpotJob(4, 4, {{"onDemandFloor", 2}});
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(Reason(), "SpotLimit");
  EXPECT_EQ(Sentence(),
            "needs 2 workers on nodes that are not spot nodes (spot.onDemandFloor); 1 fits; fits "
            "now with workers.count <= 1 or looser bounds in spot");
  AddNode("b", 1);
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 2, "spot"), 0);
  EXPECT_EQ(PodsOn("gpt", 4, "spot"), 2);
}

TEST_F(SpotTest, AJobThatAllowsNoSpotNodesWaitsAndSaysWhichNodesAreLeftOut) {
  AddSpotNode("spot", 8);
  AddSpotJob(1, 1, {{"allow", false}});
  Json pod = memory_->Get(kube::kPods, {"default", "gpt-0-1"}).value();
  kube::SetLabel(pod, "muster.dev/spot", "avoid");
  ASSERT_TRUE(memory_->Update(kube::kPods, pod).ok());
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(),
              HasSubstr("nodes left out: 1 is a spot node, which spot.allow rules out"));
  AddNode("a", 1);
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a");
}

TEST_F(SpotTest, AReplacementKeepsToTheFloorAndOneThatCannotSaysWhy) {
  AddSpotNode("spot", 8);
  AddNode("a", 2);
  AddSpotJob(4, 4, {{"onDemandFloor", 2}});
  EXPECT_EQ(RunOnce(), 4);
  DeletePod("gpt-0-1");
  AddPod("gpt", 0, 2);
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-2"), "a");
  DeletePod("gpt-0-2");
  Cordon("a");
  AddPod("gpt", 0, 3);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 of 4 workers have no node: needs 1 worker on nodes that are "
                                    "not spot nodes (spot.onDemandFloor); 0 fit"));
}

TEST_F(SpotTest, AnElasticJobStartsOnItsFloorAndGrowsOntoSpotNodes) {
  AddNode("a", 2);
  AddSpotJob(4, 2, {{"onDemandFloor", 2}});
  EXPECT_EQ(RunOnce(), 2);
  AddSpotNode("spot", 1);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-2-1"), "spot");
  AddSpotNode("spot-2", 1);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-3-1"), "spot-2");
}

TEST_F(SpotTest, WithoutSpotTheKindOfANodeMakesNoDifference) {
  AddSpotNode("a-spot", 4);
  AddNode("b", 8);
  AddJobWithPods("gpt", 4, Json::object());
  EXPECT_EQ(RunOnce(), 4);
  EXPECT_EQ(PodsOn("gpt", 4, "a-spot"), 4) << "the tightest node";
}

}  // namespace
}  // namespace muster::control
