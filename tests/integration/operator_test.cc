// Tests the operator as a whole, with real loops and gRPC and the embedded API; the tests play the
// agents and the kubelet.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/core/saves/save_request.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/web/http/http_client.h"
#include "tests/integration/operator_world.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = R"({
  "apiVersion": "muster.dev/v1alpha1", "kind": "TrainingJob",
  "metadata": {"namespace": "default", "name": "gpt"},
  "spec": {
    "workers": {"count": 2, "min": 1},
    "trainer": {"model": {"preset": "gpt2-nano"}, "data": {"uri": "/data/text"},
                "train": {"steps": 100, "globalBatch": 8, "microBatch": 4, "sequence": 64}},
    "template": {"spec": {"containers": [
        {"name": "worker", "env": [{"name": "GREETING", "value": "hello"}]}]}}
  }})";

class OperatorTest : public testing::Test {
 protected:
  void StartTraining(const std::string& job = kJob) {
    world_.AddNode("node-1", 8);
    world_.StartOperator();
    world_.CreateJob(job);
    ASSERT_TRUE(world_.Until([&] { return Training(); })) << world_.Job().status.DebugString();
  }
  // Returns true if the job trains in round `from` or later. Reads the status only once, because
  // two reads could be of different rounds.
  bool Training(int64_t from = 1) {
    const TrainingJob job = world_.Job();
    return job.status.round() >= from && job.status.state() == "Training" &&
           world_.ActiveIn(job.status.round()) == 2;
  }
  // Starts a job in which workers of the first incarnation leave some orders unanswered (see
  // `unanswered`); their replacements answer all.
  void StartWithUnansweredOrders() {
    world_.AddNode("node-1", 8);
    world_.StartOperator();
    world_.CreateJob(kJob);
    ASSERT_TRUE(world_.Until(
        [&] { return world_.Agent(1) != nullptr && !world_.Agent(1)->orders().empty(); }));
    world_.unanswered.clear();
  }
  bool HasEventAbout(const std::string& words) {
    const auto events = world_.memory->List(kube::kEvents, {});
    if (!events.ok()) return false;
    for (const Json& event : events->items) {
      if (kube::StringAt(event, {"message"}).find(words) != std::string::npos) return true;
      if (kube::StringAt(event, {"note"}).find(words) != std::string::npos) return true;
    }
    return false;
  }
  void Annotate(const std::string& key, const std::string& value) {
    const Json patch = {{"annotations", {{key, value}}}};
    const auto patched =
        world_.memory->PatchMetadata(kube::kTrainingJobs, {"default", "gpt"}, patch);
    ASSERT_TRUE(patched.ok()) << patched.status();
  }
  int Saves(int index) {
    int count = 0;
    for (const auto& order : world_.Agent(index)->orders()) count += order.has_save();
    return count;
  }
  int Prepares() {
    int count = 0;
    for (int index = 0; index < 2; ++index) {
      if (world_.Agent(index) == nullptr) continue;
      for (const auto& order : world_.Agent(index)->orders()) count += order.has_prepare();
    }
    return count;
  }

  OperatorWorld world_;
};

TEST_F(OperatorTest, RunsAJobFromManifestToSucceeded) {
  StartTraining();
  const TrainingJob job = world_.Job();
  EXPECT_EQ(job.status.term(), 1);
  EXPECT_EQ(job.status.round(), 1);
  EXPECT_THAT(job.finalizers, testing::ElementsAre(HasSubstr("muster.dev/")));
  ASSERT_EQ(world_.Pods().size(), 2u);
  EXPECT_EQ(kube::NameOf(world_.Pods()[0]), "gpt-0-1");
  EXPECT_EQ(kube::StringAt(world_.Pods()[0], {"spec", "nodeName"}), "node-1");
  EXPECT_EQ(kube::ControllerOf(world_.Pods()[0])->uid, job.uid);

  for (int step = 1; step <= 10; ++step) world_.Agent(0)->ReportStep(step, 5.0 / step);
  ASSERT_TRUE(
      world_.Until([&] { return world_.app->progress().Snapshot(job.uid).steps_seen == 10; }));
  EXPECT_EQ(world_.app->progress().StepsSince(job.uid, 7, 100).size(), 3u);

  world_.Agent(0)->Finish(100);
  world_.Agent(1)->Finish(100);
  ASSERT_TRUE(world_.Until([&] { return world_.Job().status.state() == "Succeeded"; }))
      << world_.Job().status.DebugString();
  // Agents end when told to stop, and their pods end with them.
  ASSERT_TRUE(world_.Until([&] {
    for (const Json& pod : world_.Pods()) {
      if (kube::StringAt(pod, {"status", "phase"}) != "Succeeded") return false;
    }
    return true;
  }));
}

TEST_F(OperatorTest, ANewOperatorAdoptsTheActiveRoundWithAHigherTerm) {
  StartTraining();
  const auto before = world_.Agent(0)->active();
  const int prepares = Prepares();
  world_.StopOperator();
  world_.StartOperator();
  ASSERT_TRUE(world_.Until([&] {
    return world_.Agent(0)->term() == 2 && world_.Agent(1)->term() == 2 && Training();
  })) << world_.Job().status.DebugString();
  world_.Settle();
  EXPECT_EQ(world_.Job().status.term(), 2);
  EXPECT_EQ(world_.Job().status.round(), 1);
  EXPECT_EQ(world_.Agent(0)->active().round(), before.round());
  EXPECT_EQ(Prepares(), prepares) << "the round was prepared again";
  // Agents obey orders of the new leader: a failure opens the next round.
  world_.Agent(1)->ReportExit(139);
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.round(), 2);
  EXPECT_EQ(world_.Agent(0)->active().term(), 2);
}

TEST_F(OperatorTest, ALostStatusWriteSendsNoOrders) {
  StartTraining();
  const int prepares = Prepares();
  // Refuses every status write from here on, those of pods included.
  kube::FaultPolicy refuse;
  refuse.conflict = 1;
  refuse.max_in_a_row = 1 << 30;
  world_.api->SetPolicy(refuse);
  world_.Agent(1)->ReportExit(139);
  const int64_t before = world_.api->faults(kube::Verb::kUpdateStatus);
  ASSERT_TRUE(
      world_.Until([&] { return world_.api->faults(kube::Verb::kUpdateStatus) >= before + 3; }));
  EXPECT_EQ(Prepares(), prepares);
  EXPECT_EQ(world_.Job().status.round(), 1);
  world_.api->SetPolicy({});
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.round(), 2);
}

TEST_F(OperatorTest, AKilledAgentIsReplacedByTheNextIncarnation) {
  StartTraining();
  world_.KillAgent(1);
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.incarnations(0), 1);
  EXPECT_EQ(world_.Job().status.incarnations(1), 2);
}

// The agent gets the deadline, too, and waits no longer for its ranks than the operator does for
// it.
TEST_F(OperatorTest, ThePrepareDeadlineOfTheOptionsBreaksARound) {
  world_.prepare_deadline = absl::Seconds(1);
  world_.unanswered[1].to_prepare = true;
  StartWithUnansweredOrders();
  EXPECT_EQ(world_.Agent(1)->orders().front().welcome().prepare_deadline_seconds(), 1);
  ASSERT_TRUE(world_.Until([&] { return HasEventAbout("did not get ready within 1s"); }));
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.incarnations(1), 2);
}

TEST_F(OperatorTest, TheJoinDeadlineOfTheOptionsBreaksARound) {
  world_.join_deadline = absl::Seconds(1);
  world_.unanswered[1].to_go = true;
  StartWithUnansweredOrders();
  ASSERT_TRUE(world_.Until([&] { return HasEventAbout("did not join within 1s"); }));
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.incarnations(1), 2);
}

TEST_F(OperatorTest, AnOlderIncarnationIsRefused) {
  StartTraining();
  v1alpha1::WorkerId stale;
  stale.set_namespace_("default");
  stale.set_job("gpt");
  stale.set_job_uid(world_.Job().uid);
  stale.set_index(1);
  stale.set_incarnation(1);
  stale.set_pod_uid("of-a-zombie");
  world_.KillAgent(1);
  ASSERT_TRUE(world_.Until([&] { return Training(); })) << world_.Job().status.DebugString();
  ScriptedAgent zombie(world_.socket, stale, 1);
  ASSERT_TRUE(world_.Until([&] { return !zombie.last_refusal().ok(); }));
  EXPECT_EQ(zombie.last_refusal().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(zombie.last_refusal().error_message(), HasSubstr("was replaced by incarnation 2"));
  EXPECT_TRUE(Training());
}

TEST_F(OperatorTest, WithoutRoomTheGangWaitsAndSaysWhy) {
  world_.AddNode("small", 0);
  world_.StartOperator();
  world_.CreateJob(kJob);
  ASSERT_TRUE(world_.Until([&] {
    const TrainingJob job = world_.Job();
    for (const auto& condition : job.status.conditions()) {
      if (condition.type() == "Scheduled" && condition.reason() == "Unschedulable") return true;
    }
    return false;
  })) << world_.Job().status.DebugString();
  for (const Json& pod : world_.Pods()) {
    EXPECT_EQ(kube::StringAt(pod, {"spec", "nodeName"}), "");
  }
  world_.AddNode("large", 8);
  ASSERT_TRUE(world_.Until([&] { return Training(); })) << world_.Job().status.DebugString();
}

TEST_F(OperatorTest, StopAndResumeOverHttp) {
  StartTraining();
  const auto client = MakeHttpClient(world_.app->http_address());
  httplib::Client& http = *client;
  auto answer = http.Post("/api/v1/jobs/default/gpt/stop");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  ASSERT_TRUE(world_.Until([&] { return world_.Job().status.state() == "Suspended"; }))
      << world_.Job().status.DebugString();
  ASSERT_TRUE(world_.Until([&] { return world_.Pods().empty(); }));
  answer = http.Post("/api/v1/jobs/default/gpt/resume");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  ASSERT_TRUE(world_.Until([&] { return Training(); })) << world_.Job().status.DebugString();
}

// The annotation replaces POST .../save where commands over HTTP are refused.
TEST_F(OperatorTest, AnAnnotationAsksForACheckpointOnce) {
  StartTraining(absl::StrReplaceAll(
      kJob, {{"\"template\":", "\"checkpoint\": {\"uri\": \"/out\"}, \"template\":"}}));
  Annotate(kSaveRequest, "2026-01-01T00:00:00Z");
  ASSERT_TRUE(world_.Until([&] { return Saves(0) == 1 && Saves(1) == 1; }));
  Annotate("example.com/other", "changes the object");
  world_.Settle();
  EXPECT_EQ(Saves(0), 1);
  Annotate(kSaveRequest, "2026-01-01T00:00:01Z");
  ASSERT_TRUE(world_.Until([&] { return Saves(0) == 2 && Saves(1) == 2; }));
  EXPECT_EQ(world_.Job().status.round(), 1) << "training goes on";
}

TEST_F(OperatorTest, AnEditedSpecReachesEveryAgentInOneNewRound) {
  StartTraining();
  auto job = world_.memory->Get(kube::kTrainingJobs, {"default", "gpt"});
  ASSERT_TRUE(job.ok()) << job.status();
  (*job)["spec"]["trainer"]["optimizer"]["learningRate"] = 0.25;
  ASSERT_TRUE(world_.memory->Update(kube::kTrainingJobs, *job).ok());
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.round(), 2);
  EXPECT_EQ(world_.Job().status.failures().count(), 0);
  for (int index = 0; index < 2; ++index) {
    v1alpha1::PrepareRound last;
    for (const auto& order : world_.Agent(index)->orders()) {
      if (order.has_prepare()) last = order.prepare();
    }
    EXPECT_EQ(last.round().round(), 2);
    EXPECT_EQ(last.spec().trainer().optimizer().learning_rate(), 0.25);
    EXPECT_THAT(world_.Job().status.membership(), testing::EndsWith("." + last.trajectory()));
    EXPECT_FALSE(last.spec().has_template_());
  }
}

TEST_F(OperatorTest, AClockSteppedBackwardsDisturbsNothing) {
  StartTraining();
  const TrainingJob before = world_.Job();
  const int prepares = Prepares();
  world_.clock.StepWall(-absl::Hours(24));
  for (int step = 1; step <= 5; ++step) world_.Agent(0)->ReportStep(step, 5.0 / step);
  ASSERT_TRUE(
      world_.Until([&] { return world_.app->progress().Snapshot(before.uid).steps_seen == 5; }));
  world_.Settle();
  EXPECT_EQ(world_.Job().status.round(), before.status.round());
  EXPECT_EQ(Prepares(), prepares) << "a round was prepared for nothing";
  // Failures are still detected and repaired, and the job can still finish.
  world_.Agent(1)->ReportExit(139);
  ASSERT_TRUE(world_.Until([&] { return Training(2); })) << world_.Job().status.DebugString();
  EXPECT_EQ(world_.Job().status.round(), 2);
  world_.clock.StepWall(-absl::Hours(24));
  world_.Agent(0)->Finish(100);
  world_.Agent(1)->Finish(100);
  ASSERT_TRUE(world_.Until([&] { return world_.Job().status.state() == "Succeeded"; }))
      << world_.Job().status.DebugString();
}

TEST_F(OperatorTest, ADeletedJobLosesItsPodsAndGoes) {
  StartTraining();
  ASSERT_TRUE(world_.memory->Delete(kube::kTrainingJobs, {"default", "gpt"}).ok());
  ASSERT_TRUE(world_.Until([&] {
    return world_.Pods().empty() &&
           !world_.memory->Get(kube::kTrainingJobs, {"default", "gpt"}).ok();
  }));
}

TEST_F(OperatorTest, HttpApiShowsTheJobAndRefusesNonsense) {
  StartTraining();
  world_.Agent(0)->ReportStep(1, 4.5);
  const std::string uid = world_.Job().uid;
  ASSERT_TRUE(world_.Until([&] { return world_.app->progress().Snapshot(uid).steps_seen == 1; }));
  const auto client = MakeHttpClient(world_.app->http_address());
  httplib::Client& http = *client;
  // The pages are of what the operator has read, which may be older than what it has written.
  std::string metrics;
  ASSERT_TRUE(world_.Until([&] {
    metrics = http.Get("/metrics")->body;
    return absl::StrContains(metrics, "muster_jobs{state=\"Training\"} 1");
  })) << metrics;
  const auto job = ParseJson(http.Get("/api/v1/jobs/default/gpt?curve=1")->body);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)["steps"][0]["loss"], 4.5);
  EXPECT_EQ((*job)["agents"].size(), 2u);
  EXPECT_EQ((*job)["round"]["phase"], "Active");
  EXPECT_EQ(http.Get("/readyz")->status, 200);
  EXPECT_THAT(metrics, HasSubstr("muster_agents_attached 2"));
  EXPECT_THAT(metrics, HasSubstr("muster_job_loss{training_job=\"default/gpt\"} 4.5"));
  EXPECT_THAT(metrics, HasSubstr("muster_job_skipped_steps{training_job=\"default/gpt\"} 0"));
  EXPECT_THAT(http.Get("/api/v1/jobs/default/none")->body, HasSubstr("no job default/none"));
  EXPECT_EQ(http.Get("/api/v1/jobs/default/gpt?since=soon")->status, 400);
  EXPECT_EQ(http.Post("/api/v1/jobs/default/gpt/fly")->status, 404);
  EXPECT_EQ(
      http.Post("/api/v1/jobs/default/gpt/save", std::string(100 << 10, 'x'), "text/plain")->status,
      413);
  const auto saved = http.Post("/api/v1/jobs/default/gpt/save");
  EXPECT_EQ(saved->status, 200) << saved->body;
}

}  // namespace
}  // namespace muster::control
