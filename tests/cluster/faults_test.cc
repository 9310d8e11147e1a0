// Faults in the middle of a job on real kubelets: it goes on, and ends with the weights that it
// would have had.
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "tests/cluster/installed_operator.h"

namespace muster::tests {
namespace {

using kube::StringAt;
using ::testing::HasSubstr;

constexpr int kSteps = 300;

TrainerJob Training(const std::string& name) {
  return {.name = name, .steps = kSteps, .save_every = 20};
}

class FaultsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    at_ = &InstalledOperator::Get();
    at_->Apply(Training("undisturbed"));
    const Json job = at_->AwaitSuccess("undisturbed");
    weights_ = at_->SavedWeights("undisturbed", kSteps);
    loss_ = LossOf(job);
    at_->Delete("undisturbed");
  }

  // Whatever a test left, the next one has both nodes and a whole operator.
  void TearDown() override {
    const absl::Status started = at_->cluster().Start("node-1");
    EXPECT_TRUE(started.ok()) << started;
    at_->Kubectl("uncordon node-1");
    at_->Kubectl("wait --for=condition=Ready node/node-1 --timeout=150s");
    at_->AwaitOperator();
    at_->Kubectl("delete trainingjobs --all --timeout=120s");
  }

  static double LossOf(const Json& job) {
    const Json* loss = kube::Find(job, {"status", "progress", "loss"});
    return loss != nullptr && loss->is_number() ? loss->get<double>() : 0;
  }

  // Trains, has `fault` happen after the first checkpoint, and compares the end with that of the
  // undisturbed job. Returns the finished job.
  static Json TrainThrough(const std::string& name, const std::function<void()>& fault) {
    at_->Apply(Training(name));
    const Json before = at_->AwaitSaved(name, 20);
    EXPECT_LT(NumberAt(before, {"status", "checkpoint", "step"}), kSteps) << "nothing is left";
    fault();
    Json job = at_->AwaitSuccess(name);
    EXPECT_EQ(NumberAt(job, {"status", "progress", "step"}), kSteps);
    EXPECT_GT(loss_, 0);
    EXPECT_EQ(LossOf(job), loss_);
    EXPECT_EQ(at_->SavedWeights(name, kSteps), weights_);
    return job;
  }

  static int Incarnation(const Json& job, size_t worker) {
    return job["status"]["incarnations"].at(worker).get<int>();
  }
  static std::string NodeOf(const std::string& pod) {
    return StringAt(at_->Pod(pod), {"spec", "nodeName"});
  }

  static InstalledOperator* at_;
  static std::string weights_;
  static double loss_;
};

InstalledOperator* FaultsTest::at_ = nullptr;
std::string FaultsTest::weights_;
double FaultsTest::loss_ = 0;

TEST_F(FaultsTest, ADeletedPodIsReplacedAndTheOthersStay) {
  const Json job =
      TrainThrough("deleted", [] { at_->Kubectl("delete pod deleted-1-1 --wait=false"); });
  EXPECT_EQ(Incarnation(job, 0), 1);
  EXPECT_EQ(Incarnation(job, 1), 2);
  EXPECT_EQ(Incarnation(job, 2), 1);
}

TEST_F(FaultsTest, AKilledProcessIsStartedAgainInItsPod) {
  const Json job = TrainThrough("killed", [] {
    // Processes of all pods of a node are seen on it; a worker is known by its environment.
    at_->OnNode(NodeOf("killed-1-1"), R"sh(
for process in /proc/[0-9]*; do
  if [ "$(cat $process/comm 2>/dev/null)" = muster-trainer ] &&
    tr '\0' '\n' <$process/environ | grep -qx MUSTER_JOB=killed &&
    tr '\0' '\n' <$process/environ | grep -qx MUSTER_WORKER_INDEX=1; then
    kill -KILL ${process#/proc/}
    found=yes
  fi
done
[ "$found" = yes ])sh");
  });
  for (const size_t worker : {0, 1, 2}) EXPECT_EQ(Incarnation(job, worker), 1);
  EXPECT_EQ(StringAt(job, {"status", "failures", "latest", "class"}), "RankKilled");
}

TEST_F(FaultsTest, AJobTrainsOnWithoutTheKubeletOfItsNode) {
  const Json job = TrainThrough("no-kubelet", [] {
    ASSERT_TRUE(at_->cluster().Kill("kubelet-1").ok());
    at_->Kubectl("wait --for=condition=Ready=Unknown node/node-1 --timeout=150s");
  });
  for (const size_t worker : {0, 1, 2}) EXPECT_EQ(Incarnation(job, worker), 1);
}

TEST_F(FaultsTest, ADrainedNodesWorkersMoveToAnother) {
  TrainThrough("drained", [] {
    at_->Kubectl("drain node-1 --ignore-daemonsets --delete-emptydir-data --force --timeout=120s");
  });
  const std::string nodes = at_->Kubectl(
      "get pods --selector=muster.dev/job=drained --output=jsonpath='{.items[*].spec.nodeName}'");
  EXPECT_EQ(nodes, "node-0 node-0 node-0");
}

TEST_F(FaultsTest, WorkersSaveAndLeaveASpotNodeThatIsTakenAndNoFailureIsCounted) {
  constexpr char kTaint[] = "aws-node-termination-handler/spot-itn";
  const Json job = TrainThrough("spot", [&] {
    at_->Kubectl(absl::StrCat("taint node node-1 ", kTaint, "=event:NoSchedule"));
  });
  at_->Kubectl(absl::StrCat("taint node node-1 ", kTaint, "-"));
  EXPECT_EQ(StringAt(job, {"status", "workers", "lastNotice", "outcome"}), "Kept");
  // The status of a job that never failed has no such field.
  EXPECT_LE(NumberAt(job, {"status", "failures", "count"}), 0);
  const std::string nodes = at_->Kubectl(
      "get pods --selector=muster.dev/job=spot --output=jsonpath='{.items[*].spec.nodeName}'");
  EXPECT_EQ(nodes, "node-0 node-0 node-0");
}

TEST_F(FaultsTest, WithoutAnyOperatorTheJobTrainsOnAndTheNextLeaderAdoptsItsRound) {
  const Json job = TrainThrough("no-operator", [] {
    at_->Kubectl("delete pods --all --namespace=muster-system --wait=false");
  });
  EXPECT_EQ(NumberAt(job, {"status", "round"}), 1) << "no round was broken";
  for (const size_t worker : {0, 1, 2}) EXPECT_EQ(Incarnation(job, worker), 1);
}

TEST_F(FaultsTest, ANodeThatLosesItsPowerLosesNoStepThatIsSaved) {
  TrainThrough("dark", [] { ASSERT_TRUE(at_->cluster().Kill("node-1").ok()); });
}

}  // namespace
}  // namespace muster::tests
