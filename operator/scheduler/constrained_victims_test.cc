// Victims for a gang whose pods depend on where others are, through the scheduling cycle over the
// embedded API.
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/forecast/what_if.h"
#include "operator/scheduler/scheduler_fixture.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two zones of two GPUs; all of them belong to the queue `mine`, and `theirs` has borrowed them.
class ConstrainedVictimsTest : public SchedulerFixture {
 protected:
  void AddCohort() {
    AddMember("mine", 4);
    AddMember("theirs", 0);
  }
  void AddMember(const std::string& name, int gpus) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
    queue["spec"] = Json::parse(R"({"parent": "all", "quotas": [{"resource": "nvidia.com/gpu"}]})");
    queue["spec"]["quotas"][0]["nominal"] = std::to_string(gpus);
    ASSERT_TRUE(memory_->Create(kube::kTrainingQueues, queue).ok());
  }
  void AddZone(const std::string& name) {
    Json labels;
    labels["zone"] = name;
    AddNode(name + "0", 2, labels);
  }
  // Adds a job of one worker, which runs on some node from now on.
  void Run(const std::string& name) {
    AddJob(name, 1, 1, Json(), "theirs");
    AddPod(name, 0);
    uids_[name] = uid();
    ASSERT_EQ(RunOnce(), 1) << name;
    clock_.Advance(absl::Minutes(10));
  }
  void FillTwoZones() {
    AddCohort();
    AddZone("a");
    Run("old-0");
    Run("old-1");
    AddZone("b");
    Run("new-0");
    Run("new-1");
  }
  void Ask(const std::string& name, int workers, const std::string& pod_spec) {
    AddJob(name, workers, workers, Json(), "mine");
    for (int i = 0; i < workers; ++i) AddPod(name, i, 1, Json::parse(pod_spec));
    RunOnce();
  }
  // Asks about a job that has not been submitted.
  Scheduler::Forecast WhatIf(const std::string& name, int workers, const std::string& pod_spec) {
    Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
    job["spec"]["queue"] = "mine";
    job["spec"]["workers"] = {{"count", workers}, {"gpus", 1}};
    Json pod = kube::NewObject(kube::kPods, {"default", name + "-0-1"});
    kube::SetLabel(pod, "muster.dev/job", name);
    pod["spec"] = PodSpec(Json::parse(pod_spec));
    pod["spec"]["schedulerName"] = "muster";
    return scheduler_->WhatIf(ParseTrainingJob(job).value(), ParsePodRecord(pod).value());
  }
  void EndAfter(const std::string& job, const std::string& deadline) {
    Json stored = memory_->Get(kube::kTrainingJobs, {"default", job}).value();
    stored["spec"]["activeDeadline"] = deadline;
    ASSERT_TRUE(memory_->Update(kube::kTrainingJobs, stored).ok());
  }
  StartForecast Start(const std::string& job) {
    const auto found = jobs_.Get({"default", job});
    return scheduler_->Explain(*found).start.value();
  }

  // Returns the number of jobs that were ordered to stop, by node.
  std::map<std::string, int> Told() {
    std::map<std::string, int> told;
    for (const auto& [name, uid] : uids_) {
      const auto order = scheduler_->verdicts().Of(uid).order;
      if (order && order->workers == 0) ++told[NodeOf(name + "-0-1")];
    }
    return told;
  }

  static constexpr char kSpread[] = R"({"topologySpreadConstraints": [{
      "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
      "labelSelector": {"matchLabels": {"muster.dev/job": "gpt"}}}]})";
  std::map<std::string, std::string> uids_;
};

// The two jobs that lose least work are in one zone, but the spread does not allow both workers
// there.
TEST_F(ConstrainedVictimsTest, ASpreadGangGetsVictimsInEveryZone) {
  FillTwoZones();
  Ask("gpt", 2, kSpread);
  EXPECT_THAT(Told(), ElementsAre(std::pair("a0", 1), std::pair("b0", 1)));
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "WaitingForVictims");
  for (const auto& [name, uid] : uids_) {
    if (scheduler_->verdicts().Of(uid).order) DeletePod(name + "-0-1");
  }
  EXPECT_EQ(RunOnce(), 2);
  EXPECT_EQ(PodsOn("gpt", 2, "a"), 1);
}

TEST_F(ConstrainedVictimsTest, NobodyIsStoppedForAGangThatWouldNotFitWithoutThem) {
  AddCohort();
  AddZone("a");
  Run("one");
  Run("two");
  AddZone("b");
  Cordon("b0");
  Ask("gpt", 2, kSpread);
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_EQ(scheduler_->verdicts().Of(uid()).reason, "Constraints");
  Cordon("b0", false);
  RunOnce();
  EXPECT_THAT(Told(), ElementsAre(std::pair("a0", 1))) << "there is one place in the other zone";
}

TEST_F(ConstrainedVictimsTest, WhatIfNamesVictimsByTheRules) {
  FillTwoZones();
  const Scheduler::Forecast spread = WhatIf("gpt", 2, kSpread);
  std::map<std::string, int> nodes;
  for (const NeededVictim& victim : spread.queue.victims) ++nodes[NodeOf(victim.name + "-0-1")];
  EXPECT_THAT(nodes, ElementsAre(std::pair("a0", 1), std::pair("b0", 1)));
  EXPECT_EQ(spread.queue.start.kind, StartKind::kAt) << "when they have gone";
  EXPECT_EQ(spread.queue.start.awaited.size(), 2u);
  Cordon("b0");
  RunOnce();
  const Scheduler::Forecast nowhere = WhatIf("gpt", 2, kSpread);
  EXPECT_THAT(nowhere.queue.victims, IsEmpty()) << "one zone is not enough";
  EXPECT_EQ(nowhere.queue.start.kind, StartKind::kNoRoom);
}

// The cluster has room for the gang all the while.
TEST_F(ConstrainedVictimsTest, AGangThatIsKeptAwayStartsWhenTheOtherEnds) {
  AddMember("mine", 4);
  AddZone("a");
  AddJob("noisy", 1, 1, Json(), "mine");
  AddPod("noisy", 0);
  ASSERT_EQ(RunOnce(), 1);
  constexpr char kAway[] = R"({"affinity": {"podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
      "labelSelector": {"matchLabels": {"muster.dev/job": "noisy"}}}]}}})";
  Ask("gpt", 1, kAway);
  EXPECT_EQ(Start("gpt").kind, StartKind::kUnknown);
  EndAfter("noisy", "1h");
  RunOnce();
  const StartForecast start = Start("gpt");
  EXPECT_EQ(start.kind, StartKind::kAt);
  ASSERT_EQ(start.awaited.size(), 1u);
  EXPECT_EQ(start.awaited[0].name, "noisy");
  EXPECT_EQ(start.at, clock_.Wall() + absl::Hours(1));
  EXPECT_EQ(WhatIf("other", 1, kAway).queue.start.at, start.at);
  EXPECT_EQ(WhatIf("other", 1, "{}").queue.start.kind, StartKind::kNow);
}

// There is room, but pods of another job keep the gang away.
TEST_F(ConstrainedVictimsTest, AJobThatKeepsAGangAwayMakesRoomForIt) {
  AddCohort();
  AddZone("a");
  Run("noisy");
  Ask("gpt", 1, R"({"affinity": {"podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
      "labelSelector": {"matchLabels": {"muster.dev/job": "noisy"}}}]}}})");
  EXPECT_THAT(Told(), ElementsAre(std::pair("a0", 1)));
  DeletePod("noisy-0-1");
  EXPECT_EQ(RunOnce(), 1);
}

}  // namespace
}  // namespace muster::control
