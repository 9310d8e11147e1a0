// Follows TrainingJobs from kubectl to their end on a real control plane, with real agents and
// trainers.
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using control::JobNumber;
using control::JobText;
using kube::Find;
using kube::StringAt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class E2eTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto world = E2eWorld::Create();
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    for (const char* node : {"n1", "n2", "n3"}) {
      const absl::Status started = world_->StartNode(node);
      ASSERT_TRUE(started.ok()) << started;
    }
    const absl::Status started = world_->StartOperator();
    ASSERT_TRUE(started.ok()) << started;
  }
  static void TearDownTestSuite() { delete std::exchange(world_, nullptr); }
  void SetUp() override { ASSERT_NE(world_, nullptr); }
  void TearDown() override {
    EXPECT_THAT(world_->OperatorLog(), Not(HasSubstr("orbidden"))) << "a right is missing";
    if (HasFailure()) ADD_FAILURE() << world_->Logs();
  }

  static E2eWorld* world_;
};
E2eWorld* E2eTest::world_ = nullptr;

TEST_F(E2eTest, AJobTrainsToItsEndAndItsPodsTellTheWholeStory) {
  ASSERT_TRUE(world_->ApplyJob("whole", 2, 300).ok());
  const auto running = world_->WaitForRound("whole", 2);
  ASSERT_TRUE(running.ok()) << running.status();
  const auto pods = world_->Pods("whole");
  ASSERT_EQ(pods.size(), 2u);
  std::set<std::string> nodes;
  for (const auto& [name, pod] : pods) {
    nodes.insert(StringAt(pod, {"spec", "nodeName"}));
    EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Running");
    EXPECT_EQ(StringAt(pod, {"status", "podIP"}), "127.0.0.1");
    EXPECT_EQ(StringAt(pod, {"status", "qosClass"}), "Burstable") << "the server's, kept";
    for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"}) {
      EXPECT_THAT(ConditionOf(pod, type), testing::StartsWith("True")) << name << " " << type;
    }
  }
  EXPECT_EQ(nodes.size(), 2u) << "a node has a CPU for one";
  const auto done = world_->WaitForJob("whole", "it succeeded", [](const Json& job) {
    return absl::StartsWith(ConditionOf(job, "Succeeded"), "True");
  });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(StepOf(*done), 300);
  EXPECT_EQ((*done)["status"]["checkpoint"]["step"], 300);
  EXPECT_TRUE(Exists(FileSystem(), world_->Checkpoints("whole") + "/step-000000300/DONE"));
  ASSERT_TRUE(
      world_->WaitFor("the pods have ended", [&] { return world_->Pods("whole").empty(); }).ok());
  const auto ended = world_->cluster().List(kube::kPods);
  ASSERT_TRUE(ended.ok()) << ended.status();
  for (const Json& pod : *ended) {
    EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Succeeded");
    const Json& terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"];
    EXPECT_EQ(StringAt(terminated, {"reason"}), "Completed");
    EXPECT_EQ(terminated["exitCode"], 0);
  }
  EXPECT_TRUE(world_->DeleteJob("whole").ok());
}

TEST_F(E2eTest, ScaleAndEditOpenARoundInPlace) {
  ASSERT_TRUE(world_->ApplyJob("elastic", 2, E2eWorld::kEndless).ok());
  const auto first = world_->WaitForRound("elastic", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const Json survivor = world_->Pods("elastic")["elastic-0-1"];
  const auto trainers = world_->TrainersOf(survivor);
  ASSERT_EQ(trainers.size(), 1u);

  const auto scaled = world_->cluster().Kubectl({"scale", "trainingjob/elastic", "--replicas=1"});
  ASSERT_TRUE(scaled.ok() && scaled->ok()) << scaled->err;
  const auto smaller = world_->WaitForRound("elastic", 1, RoundOf(*first));
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  EXPECT_EQ(world_->TrainersOf(survivor), trainers);
  EXPECT_TRUE(world_->WaitForMoreSteps("elastic").ok());

  const auto edited = world_->cluster().Kubectl({"patch", "trainingjob/elastic", "--type=merge",
                                                 "--patch={\"spec\":{\"workers\":{\"count\":3}}}"});
  ASSERT_TRUE(edited.ok() && edited->ok()) << edited->err;
  const auto larger = world_->WaitForRound("elastic", 3, RoundOf(*smaller));
  ASSERT_TRUE(larger.ok()) << larger.status();
  EXPECT_EQ(world_->TrainersOf(survivor), trainers) << "its process lives on";
  EXPECT_GE(StepOf(*larger), StepOf(*smaller));
  EXPECT_TRUE(world_->WaitForMoreSteps("elastic").ok());
  EXPECT_TRUE(world_->DeleteJob("elastic").ok());
}

// The nominal quota of queue `product` covers two of the three machines; `research` may borrow
// them.
class QueueE2eTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    // A kubeconfig like a user's, whose current namespace is that of the jobs.
    const std::string config = world_->folder() + "/jobs.kubeconfig";
    const auto made = TestCluster::Run(
        {"/bin/bash", "-euc",
         absl::StrCat(
             "cp ", world_->cluster().kubeconfig(), " ", config, "; kubectl --kubeconfig ", config,
             " config set-context --current --namespace=", world_->cluster().name_space())});
    ASSERT_TRUE(made.ok() && made->ok()) << made.status();
    Run("queues");
  }
  void TearDown() override {
    const auto deleted = world_->cluster().Kubectl({"delete", "trainingjob", "owner"});
    EXPECT_TRUE(deleted.ok() && deleted->ok()) << deleted->err;
    EXPECT_TRUE(world_->DeleteJob("borrower").ok());
    EXPECT_TRUE(world_->cluster().Kubectl({"delete", "tq", "research", "product"}).ok());
    // Later jobs of these names must start from scratch.
    for (const char* job : {"owner", "borrower"}) {
      std::filesystem::remove_all(world_->Checkpoints(job));
    }
    E2eTest::TearDown();
  }

  // Runs a block of docs/queues.md and returns its output.
  static std::string Run(const std::string& block) {
    const auto out =
        world_->RunDocumented(block, {"KUBECONFIG=" + world_->folder() + "/jobs.kubeconfig"});
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or("");
  }
  static void WriteManifest(const std::string& job, int workers, int steps,
                            const std::string& more) {
    const std::string path = absl::StrCat(world_->folder(), "/", job, ".yaml");
    const std::string manifest = world_->Manifest(job, workers, steps, more);
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), path, manifest).ok());
  }
  // Submits a job of two workers, which may shrink to one, to the lending queue.
  void RunOwner(int steps) {
    ASSERT_TRUE(world_->ApplyJob("owner", 2, steps, "  queue: product\n").ok());
  }
  static absl::Status WaitForOwner() {
    return world_
        ->WaitForJob(
            "owner", "it ends",
            [](const Json& job) { return JobText(job, {"status", "state"}) == "Succeeded"; })
        .status();
  }
};

TEST_F(QueueE2eTest, AQueueTakesItsQuotaBackFromABorrowerThatShrinksAndGrowsAgain) {
  WriteManifest("borrower", 3, E2eWorld::kEndless, "  queue: research\n");
  WriteManifest("owner", 2, 800, "  queue: product\n");
  EXPECT_THAT(Run("borrow"), HasSubstr("research"));
  const auto first = world_->WaitForRound("borrower", 3);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(world_->WaitForMoreSteps("borrower").ok());
  const Json survivor = world_->Pods("borrower")["borrower-0-1"];
  const auto trainers = world_->TrainersOf(survivor);

  EXPECT_THAT(Run("reclaim"), HasSubstr("/owner"));
  const auto smaller = world_->WaitForRound("borrower", 1, RoundOf(*first));
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  EXPECT_EQ(JobText(*smaller, {"status", "preemption", "reason"}), "Reclaimed");
  EXPECT_EQ(JobNumber(*smaller, {"status", "preemption", "workers"}), 1)
      << "one would do, two are its own";
  EXPECT_THAT(Run("ended"), HasSubstr("\"resource\":\"cpu\"")) << "what it used is remembered";

  const auto again = world_->WaitForRound("borrower", 3, RoundOf(*smaller));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(world_->TrainersOf(survivor), trainers) << "its process lives on";
  EXPECT_GE(StepOf(*again), StepOf(*smaller));
  EXPECT_EQ(JobNumber(*again, {"status", "failures", "count"}), 0);
  EXPECT_TRUE(world_
                  ->WaitFor("the queue's status says what it uses",
                            [&] {
                              const auto queue =
                                  world_->cluster().Get(kube::kTrainingQueues, "research");
                              return queue.ok() && Find(*queue, {"status", "running"}) != nullptr &&
                                     *Find(*queue, {"status", "running"}) == 1;
                            })
                  .ok());
}

TEST_F(QueueE2eTest, ABorrowerThatCannotShrinkSavesWaitsAndGoesOnFromItsCheckpoint) {
  const std::string elastic =
      world_->Manifest("borrower", 3, E2eWorld::kEndless, "  queue: research\n");
  const absl::Status applied =
      world_->cluster().Apply(absl::StrReplaceAll(elastic, {{"min: 1", "min: 3"}}));
  ASSERT_TRUE(applied.ok()) << applied;
  ASSERT_TRUE(world_->WaitForRound("borrower", 3).ok());
  ASSERT_TRUE(world_->WaitForMoreSteps("borrower").ok());

  RunOwner(300);
  const auto waits = world_->WaitForJob("borrower", "it waits", [](const Json& job) {
    return JobText(job, {"status", "state"}) == "Queued";
  });
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_EQ(ConditionOf(*waits, "Preempted"), "True/Reclaimed");
  EXPECT_EQ(JobText(*waits, {"status", "preemption", "reason"}), "Reclaimed");
  ASSERT_TRUE(world_->WaitForRound("owner", 2).ok());
  const auto stopped = world_->cluster().Get(kube::kTrainingJobs, "borrower");
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  const int64_t saved = JobNumber(*stopped, {"status", "checkpoint", "step"});
  EXPECT_GT(saved, 0);
  EXPECT_GE(saved, StepOf(*stopped)) << "all that was told to be committed is saved";
  ASSERT_TRUE(WaitForOwner().ok());

  const auto again = world_->WaitForJob("borrower", "it runs again", [](const Json& job) {
    return ConditionOf(job, "Preempted") == "False/RunsAgain" &&
           JobText(job, {"status", "state"}) == "Training";
  });
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_GE(StepOf(*again), saved);
  EXPECT_EQ(JobNumber(*again, {"status", "preemption", "count"}), 1);
  EXPECT_EQ(JobNumber(*again, {"status", "failures", "count"}), 0);
  const auto pods = world_->Pods("borrower");
  ASSERT_EQ(pods.size(), 3u);
  for (const auto& [name, pod] : pods) {
    std::string joined;
    for (const auto& [file, log] : world_->PodLogs(pod)) {
      const size_t at = log.find(" joined round=");
      const bool rank = absl::StartsWith(file, "rank-") && at != std::string::npos;
      if (rank) joined = log.substr(at, log.find('\n', at) - at);
    }
    EXPECT_THAT(joined, testing::EndsWith(absl::StrCat(" step=", saved))) << name;
  }
  EXPECT_TRUE(world_->WaitForMoreSteps("borrower").ok());
}

TEST_F(E2eTest, ALostNodesWorkerIsReplacedElsewhereAndTrainingGoesOn) {
  ASSERT_TRUE(world_->ApplyJob("lost", 2, E2eWorld::kEndless).ok());
  const auto first = world_->WaitForRound("lost", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto before = world_->Pods("lost");
  const std::string node = StringAt(before.at("lost-1-1"), {"spec", "nodeName"});
  const auto trainers = world_->TrainersOf(before.at("lost-0-1"));
  world_->KillNode(node);
  ASSERT_TRUE(world_
                  ->WaitFor("the node is not ready",
                            [&] {
                              const auto now = world_->cluster().Get(kube::kNodes, node);
                              return now.ok() &&
                                     absl::StartsWith(ConditionOf(*now, "Ready"), "Unknown");
                            })
                  .ok());
  const auto next = world_->WaitForRound("lost", 2, RoundOf(*first));
  ASSERT_TRUE(next.ok()) << next.status();
  const auto after = world_->Pods("lost");
  ASSERT_TRUE(after.count("lost-1-2")) << "the next incarnation";
  EXPECT_NE(StringAt(after.at("lost-1-2"), {"spec", "nodeName"}), node);
  EXPECT_EQ(world_->TrainersOf(after.at("lost-0-1")), trainers) << "the survivor lives on";
  EXPECT_TRUE(world_->WaitForMoreSteps("lost").ok());
  ASSERT_TRUE(world_
                  ->WaitFor("the old pod is evicted",
                            [&] {
                              const auto pod = world_->cluster().Get(kube::kPods, "lost-1-1");
                              return !pod.ok() || kube::IsTerminating(*pod);
                            })
                  .ok());
  // The machine comes back, ends leftover processes, and takes pods again.
  ASSERT_TRUE(world_->StartNode(node).ok());
  EXPECT_TRUE(world_->DeleteJob("lost").ok());
}

// The pods' processes keep running unobserved; they must not disturb their replacements.
TEST_F(E2eTest, AKubeletThatStopsIsALostNodeAndEndsItsOldPodsWhenItReturns) {
  ASSERT_TRUE(world_->ApplyJob("frozen", 2, E2eWorld::kEndless).ok());
  const auto first = world_->WaitForRound("frozen", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto before = world_->Pods("frozen");
  const Json& old = before.at("frozen-1-1");
  const std::string node = StringAt(old, {"spec", "nodeName"});
  ASSERT_EQ(world_->TrainersOf(old).size(), 1u);
  world_->SignalKubelet(node, SIGSTOP);
  const auto next = world_->WaitForRound("frozen", 2, RoundOf(*first));
  ASSERT_TRUE(next.ok()) << next.status();
  const auto after = world_->Pods("frozen");
  ASSERT_TRUE(after.count("frozen-1-2"));
  EXPECT_NE(StringAt(after.at("frozen-1-2"), {"spec", "nodeName"}), node);
  EXPECT_TRUE(world_->WaitForMoreSteps("frozen").ok());
  world_->SignalKubelet(node, SIGCONT);
  EXPECT_TRUE(world_
                  ->WaitFor("the old pod and its processes are gone",
                            [&] {
                              return !world_->cluster().Get(kube::kPods, "frozen-1-1").ok() &&
                                     world_->TrainersOf(old).empty();
                            })
                  .ok());
  EXPECT_TRUE(world_
                  ->WaitFor("the node takes pods again",
                            [&] {
                              const auto now = world_->cluster().Get(kube::kNodes, node);
                              return now.ok() && Find(*now, {"spec", "taints"}) == nullptr;
                            })
                  .ok());
  EXPECT_TRUE(world_->DeleteJob("frozen").ok());
}

TEST_F(E2eTest, ANodeThatGoesAwayIsLeftInTimeAndTheJobGrowsAgainElsewhere) {
  ASSERT_TRUE(world_->ApplyJob("spot", 2, E2eWorld::kEndless).ok());
  const auto first = world_->WaitForRound("spot", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(world_->WaitForMoreSteps("spot").ok());
  const auto before = world_->Pods("spot");
  const std::string node = StringAt(before.at("spot-1-1"), {"spec", "nodeName"});
  const auto trainers = world_->TrainersOf(before.at("spot-0-1"));
  const std::string taint = "aws-node-termination-handler/spot-itn";
  const auto tainted = world_->cluster().Kubectl({"taint", "node", node, taint + "=:NoSchedule"});
  ASSERT_TRUE(tainted.ok() && tainted->ok()) << tainted->err;

  const auto smaller = world_->WaitForRound("spot", 1, RoundOf(*first));
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  const int64_t saved = JobNumber(*smaller, {"status", "checkpoint", "step"});
  ASSERT_GT(saved, 0) << "a checkpoint was asked for, long before its interval";
  EXPECT_NE(saved % 1000, 0);
  const auto larger = world_->WaitForRound("spot", 2, RoundOf(*smaller));
  ASSERT_TRUE(larger.ok()) << larger.status();
  const auto after = world_->Pods("spot");
  ASSERT_TRUE(after.count("spot-1-2"));
  EXPECT_NE(StringAt(after.at("spot-1-2"), {"spec", "nodeName"}), node);
  EXPECT_EQ(world_->TrainersOf(after.at("spot-0-1")), trainers) << "the survivor lives on";
  EXPECT_EQ(JobNumber(*larger, {"status", "failures", "count"}), 0) << "nobody's fault";
  const auto events = world_->cluster().Kubectl({"get", "events"});
  EXPECT_THAT(events->out, HasSubstr("NodeGoesAway"));
  EXPECT_TRUE(world_->cluster().Kubectl({"taint", "node", node, taint + "-"})->ok());
  EXPECT_TRUE(world_->DeleteJob("spot").ok());
}

// Updating the operator and the programs on a node must not disturb training.
TEST_F(E2eTest, OperatorAndNodeAgentsAreReplacedUnderARunningJob) {
  ASSERT_TRUE(world_->ApplyJob("steady", 2, E2eWorld::kEndless).ok());
  const auto first = world_->WaitForRound("steady", 2);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto pods = world_->Pods("steady");
  const Json& pod = pods.at("steady-0-1");
  const auto trainers = world_->TrainersOf(pod);
  const std::string node = StringAt(pod, {"spec", "nodeName"});
  world_->KillKubelet(node);
  ASSERT_TRUE(world_->StartNode(node).ok());
  ASSERT_TRUE(world_->StopOperator().ok());
  ASSERT_TRUE(world_->StartOperator().ok());
  EXPECT_TRUE(world_->WaitForMoreSteps("steady").ok());
  const auto now = world_->WaitForJob("steady", "the new leader has it", [&](const Json& job) {
    return job["status"]["term"] > (*first)["status"]["term"];
  });
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(RoundOf(*now), RoundOf(*first));
  EXPECT_EQ(world_->TrainersOf(pod), trainers);
  EXPECT_EQ(world_->Pods("steady").size(), 2u);
  EXPECT_TRUE(world_->DeleteJob("steady").ok());
}

}  // namespace
}  // namespace muster::tests
