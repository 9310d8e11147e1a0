#include "operator/scheduler/scheduler.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class SchedulerTest : public SchedulerFixture {
 protected:
  void AddNodeIn(const std::string& leaf, const std::string& name) {
    AddNode(name, 1, {{"network.topology.nvidia.com/leaf", leaf}});
  }
};

TEST_F(SchedulerTest, BindsTheWholeGang) {
  AddNode("a", 1);
  AddNode("b", 1);
  AddJob("gpt", 2, 2);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ((std::set<std::string>{NodeOf("gpt-0-1"), NodeOf("gpt-1-1")}),
            (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(RunOnce(), 0);
}

TEST_F(SchedulerTest, BindsNothingWhenTheGangDoesNotFitAndSaysWhy) {
  AddNode("a", 1);
  AddJob("gpt", 2, 2);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(NodeOf("gpt-0-1"), "");
  const auto record = ParsePodRecord(memory_->Get(kube::kPods, {"default", "gpt-0-1"}).value());
  EXPECT_FALSE(record->unscheduled_message.empty());
  EXPECT_EQ(Sentence(), record->unscheduled_message);
  EXPECT_EQ(verdict_changes_, std::vector<std::string>{"default/gpt"});
  // The same verdict is neither written nor reported again.
  const int64_t writes = api_->calls(kube::Verb::kUpdateStatus);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(api_->calls(kube::Verb::kUpdateStatus), writes);
  EXPECT_EQ(verdict_changes_.size(), 1u);
  AddNode("b", 1);
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "");
  EXPECT_EQ(verdict_changes_.size(), 2u);
}

TEST_F(SchedulerTest, WaitsUntilEveryPodOfAStartingGangIsThere) {
  AddNode("a", 4);
  AddJob("gpt", 2, 1);
  AddPod("gpt", 0);
  EXPECT_EQ(RunOnce(), 0);
  AddPod("gpt", 1);
  EXPECT_EQ(RunOnce(), 2);
}

TEST_F(SchedulerTest, AnElasticGangStartsWithWhatFits) {
  AddNode("a", 1);
  AddJob("gpt", 2, 1);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a");
  EXPECT_EQ(NodeOf("gpt-1-1"), "");
}

TEST_F(SchedulerTest, AGangPrefersNodesOfOneGpuProduct) {
  AddNode("a", 1, {{"nvidia.com/gpu.product", "A100"}});
  AddNode("b", 1, {{"nvidia.com/gpu.product", "H100"}});
  AddNode("c", 1, {{"nvidia.com/gpu.product", "H100"}});
  AddJobWithPods("gpt", 2, Json::object());
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(NodeOf("gpt-0-1"), "b");
  EXPECT_EQ(NodeOf("gpt-1-1"), "c");
}

TEST_F(SchedulerTest, ANodeThatChangesTheOrderOfLevelsTouchesNoRunningJob) {
  const auto add = [this](const std::string& name, const std::string& leaf,
                          const std::string& nvlink) {
    AddNode(name, 1,
            {{"network.topology.nvidia.com/leaf", leaf},
             {"network.topology.nvidia.com/accelerator", nvlink}});
  };
  add("a", "l1", "nvl1");
  add("b", "l1", "nvl1");
  add("c", "l2", "nvl1");
  // Three nodes of one NVLink domain over two leaves.
  AddJobWithPods("gpt", 3, Json::object(), {{"require", "nvlink"}});
  EXPECT_EQ(RunOnce(), 3);
  // Neither level nests in the other now, and NVLink is below the leaf again.
  add("d", "l2", "nvl2");
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(PodsOn("gpt", 3, ""), 3);
  AddJobWithPods("one", 1, Json::object(), {{"require", "nvlink"}});
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("one-0-1"), "d");
  EXPECT_EQ(PodsOn("gpt", 3, ""), 3);
}

TEST_F(SchedulerTest, NeverPromisesAGpuTwiceBeforeTheCacheShowsTheBind) {
  AddNode("a", 1);
  AddJob("one", 1, 1);
  AddPod("one", 0);
  ASSERT_EQ(RunOnce(), 1);
  AddJob("two", 1, 1);
  AddPod("two", 0);
  // The cache sees the new pod, but not yet that the first was bound.
  const auto two = memory_->Get(kube::kPods, {"default", "two-0-1"}).value();
  const auto job = memory_->Get(kube::kTrainingJobs, {"default", "two"}).value();
  pods_.Upsert(two, kube::ParseResourceVersion(kube::ResourceVersionOf(two)).value());
  jobs_.Upsert(job, kube::ParseResourceVersion(kube::ResourceVersionOf(job)).value());
  EXPECT_EQ(scheduler_->RunOnce(), 0);
  EXPECT_EQ(NodeOf("two-0-1"), "");
}

TEST_F(SchedulerTest, AFailedBindIsTriedAgain) {
  AddNode("a", 2);
  AddJob("gpt", 2, 2);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  api_->FailNext(kube::Verb::kBind, absl::UnavailableError("gone for a moment"));
  EXPECT_EQ(RunOnce(), 1);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a");
  EXPECT_EQ(NodeOf("gpt-1-1"), "a");
}

TEST_F(SchedulerTest, LeavesOtherSchedulersPodsAloneButCountsThem) {
  AddNode("a", 1);
  Json other = kube::NewObject(kube::kPods, {"default", "other"});
  other["spec"] = {
      {"nodeName", "a"},
      {"containers",
       {{{"name", "c"}, {"image", "x"}, {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}};
  ASSERT_TRUE(memory_->Create(kube::kPods, other).ok());
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(NodeOf("gpt-0-1"), "");
}

TEST_F(SchedulerTest, NothingIsBoundToATaintedNodeUnlessItIsTolerated) {
  AddNode("a", 2);
  Json node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["spec"]["taints"] = {{{"key", "ToBeDeleted"}, {"effect", "NoSchedule"}}};
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  EXPECT_EQ(RunOnce(), 0);
  node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["spec"].erase("taints");
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  EXPECT_EQ(RunOnce(), 1);
}

// Otherwise a worker would be bound to the node that it has just left.
TEST_F(SchedulerTest, NothingIsBoundToANodeThatGoesAwayWhateverIsTolerated) {
  AddNode("a", 2);
  Json node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["spec"]["taints"] = {
      {{"key", "ToBeDeletedByClusterAutoscaler"}, {"effect", "PreferNoSchedule"}}};
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  EXPECT_EQ(RunOnce(), 0);
}

// The cluster autoscaler marks nodes that it might remove, and takes most of the marks back.
TEST_F(SchedulerTest, ANodeThatMightBeRemovedOneDayIsOpen) {
  AddNode("a", 2);
  Json node = memory_->Get(kube::kNodes, {"", "a"}).value();
  node["spec"]["taints"] = {
      {{"key", "DeletionCandidateOfClusterAutoscaler"}, {"effect", "PreferNoSchedule"}}};
  ASSERT_TRUE(memory_->Update(kube::kNodes, node).ok());
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  EXPECT_EQ(RunOnce(), 1);
}

TEST_F(SchedulerTest, ARequiredLevelHoldsForTheGangAndForWhoReplacesALostWorker) {
  for (const char* rack : {"a", "b"}) {
    for (int i = 0; i < 3; ++i) AddNodeIn(absl::StrCat("rack-", rack), absl::StrCat(rack, i));
  }
  AddJob("gpt", 3, 3, {{"require", "leaf"}});
  for (int i = 0; i < 3; ++i) AddPod("gpt", i);
  ASSERT_EQ(RunOnce(), 3);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a0");
  EXPECT_EQ(NodeOf("gpt-1-1"), "a1");
  EXPECT_EQ(NodeOf("gpt-2-1"), "a2");
  const PlacementView verdict = scheduler_->verdicts().Of(uid());
  EXPECT_EQ(verdict.level, "leaf");
  EXPECT_EQ(verdict.domain, "rack-a");
  EXPECT_EQ(verdict.score, 1);
  // The node becomes unavailable while the replacement is made.
  DeletePod("gpt-1-1");
  RunOnce();
  AddPod("gpt", 1, 2);
  Cordon("a1");
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_THAT(Sentence(), HasSubstr("1 of 3 workers have no node in rack-a, where the others are"));
  Cordon("a1", false);
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-1-2"), "a1");
}

// The job was stopped in the moment in which one of its commands had ended and the others had not.
TEST_F(SchedulerTest, TheRestOfASliceIsBoundThoughAMemberHasEnded) {
  for (const char* rack : {"a", "b"}) {
    for (int i = 0; i < 2; ++i) AddNodeIn(absl::StrCat("rack-", rack), absl::StrCat(rack, i));
  }
  AddQueue("team", 4);
  AddJob("gpt", 4, 4, {{"slices", {{{"workers", 2}, {"level", "leaf"}}}}}, "team");
  Json job = memory_->Get(kube::kTrainingJobs, {"default", "gpt"}).value();
  job["status"] = {{"workers", {{"ended", "1"}}}, {"incarnations", {2, 1, 2, 2}}};
  ASSERT_TRUE(memory_->UpdateStatus(kube::kTrainingJobs, job).ok());
  for (const int index : {0, 2, 3}) AddPod("gpt", index, 2);
  EXPECT_EQ(RunOnce(), 3) << Sentence();
  EXPECT_EQ(NodeOf("gpt-2-2").substr(0, 1), NodeOf("gpt-3-2").substr(0, 1)) << "one slice";
  EXPECT_NE(NodeOf("gpt-0-2").substr(0, 1), NodeOf("gpt-2-2").substr(0, 1)) << "another slice";
  // The other one's replacement comes to where its slice has room.
  DeletePod("gpt-0-2");
  RunOnce();
  AddPod("gpt", 0, 3);
  EXPECT_EQ(RunOnce(), 1) << Sentence();
}

TEST_F(SchedulerTest, ABindWhoseAnswerIsLostIsRepeatedOnTheSameNode) {
  AddNode("a", 1);
  AddNode("b", 1);
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  api_->FailNext(kube::Verb::kBind, absl::DeadlineExceededError("no answer"));
  EXPECT_EQ(RunOnce(), 0);
  // No other job gets a node that the unanswered bind may have taken.
  AddJob("two", 2, 2);
  AddPod("two", 0);
  AddPod("two", 1);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(NodeOf("gpt-0-1"), "");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(NodeOf("gpt-0-1"), "a");
}

TEST_F(SchedulerTest, APodWhoseBindIsUnknownIsGivenUpWhenItsNodeIsNoPlaceAnyMore) {
  AddNode("a", 1);
  AddJob("gpt", 1, 1);
  AddPod("gpt", 0);
  api_->FailNext(kube::Verb::kBind, absl::DeadlineExceededError("no answer"));
  EXPECT_EQ(RunOnce(), 0);
  Cordon("a");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(memory_->Get(kube::kPods, {"default", "gpt-0-1"}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SchedulerTest, AGangThatStaysBoundInPartIsUndone) {
  AddNode("a", 1);
  AddNode("b", 1);
  AddJob("gpt", 2, 2);
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  api_->FailNext(kube::Verb::kBind, absl::ResourceExhaustedError("slow down"));
  EXPECT_EQ(RunOnce(), 1);
  Cordon("a");
  Cordon("b");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(scheduler_->undone(), 0);
  clock_.Advance(absl::Seconds(5));
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(scheduler_->undone(), 1);
  for (int i = 0; i < 2; ++i) {
    const auto pod = memory_->Get(kube::kPods, {"default", absl::StrCat("gpt-", i, "-1")});
    ASSERT_TRUE(pod.ok()) << pod.status();
    EXPECT_EQ(kube::IsTerminating(*pod), !kube::StringAt(*pod, {"spec", "nodeName"}).empty());
  }
}

TEST_F(SchedulerTest, ARefusalNamesTheNodesThatWereLeftOutAndWhatWouldFit) {
  AddNode("a", 1);
  AddNode("b", 1);
  AddNode("c", 1);
  Cordon("c");
  AddJob("gpt", 3, 3);
  for (int i = 0; i < 3; ++i) AddPod("gpt", i);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(
      Sentence(),
      "room for 2 of at least 3 workers; fits now with workers.count <= 2; nodes left out: 1 is "
      "cordoned");
}

// Otherwise each cycle would cost time in proportion to all waiting jobs.
TEST_F(SchedulerTest, AnUnchangedGangIsNotCheckedForAPartialBind) {
  AddNode("a", 1);
  for (int i = 0; i < 20; ++i) AddJobWithPods(absl::StrCat("job", i), 1, Json::object());
  EXPECT_EQ(RunOnce(), 1);
  RunOnce();
  const int64_t looks = scheduler_->work().partial_bind_checks;
  EXPECT_GE(looks, 20);
  for (int i = 0; i < 5; ++i) RunOnce();
  EXPECT_EQ(scheduler_->work().partial_bind_checks, looks);
  AddJobWithPods("late", 1, Json::object());
  RunOnce();
  EXPECT_EQ(scheduler_->work().partial_bind_checks, looks + 1);
}

TEST_F(SchedulerTest, AJobThatIsFarBehindGetsOneReport) {
  AddNode("a", 8);
  AddQueue("q", 1);
  auto add = [&](int i) {
    const std::string name = absl::StrCat("job", 100 + i);
    AddJob(name, 1, 1, Json(), "q");
    AddPod(name, 0);
  };
  // One job runs, one is the queue's head, and backfill_depth jobs are looked at behind it.
  const int looked_at = 2 + ScheduleOptions().backfill_depth;
  for (int i = 0; i < looked_at + 7; ++i) add(i);
  EXPECT_EQ(RunOnce(), 1);
  EXPECT_EQ(scheduler_->work().overtaken_reports, 7);
  clock_.Advance(absl::Seconds(10));
  RunOnce();
  EXPECT_EQ(scheduler_->work().overtaken_reports, 7) << "they know";
  add(looked_at + 8);
  RunOnce();
  EXPECT_EQ(scheduler_->work().overtaken_reports, 8) << "it, or whoever it comes before";
}

TEST_F(SchedulerTest, LevelsMayBeGivenAsLabelKeys) {
  scheduler_->SetTopologyLevels({"network.topology.nvidia.com/leaf"});
  AddNodeIn("x", "a");
  AddNodeIn("y", "b");
  AddJob("gpt", 2, 2, {{"require", "network.topology.nvidia.com/leaf"}});
  AddPod("gpt", 0);
  AddPod("gpt", 1);
  EXPECT_EQ(RunOnce(), 0);
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "Topology");
  AddNodeIn("y", "c");
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).domain, "y");
}

}  // namespace
}  // namespace muster::control
