// The operator, installed by Helm from our images on a node with a real kubelet, trains a job.
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testenv/cluster_shell.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Minutes(5);
constexpr char kCheckpoints[] = "/tmp/first-job";

class FirstJobTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = TestCluster::Create("first-job");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    shell_.emplace(*cluster_, "first-job", kPatience);
    // The tool looks for its files beside itself, so it is called by its place in the source tree.
    shell_->Run(absl::StrCat("$(dirname $(readlink -f ", DataPath("tools/images.toml"),
                             "))/images --bin=", DataPath(""),
                             " --out=images --tag=test --repository=muster.test"));
    for (const char* image : {"operator", "agent", "trainer"}) {
      const std::string archive = absl::StrCat(shell_->folder(), "/images/", image, ".tar");
      const absl::Status imported = cluster_->ImportImage("all", archive);
      ASSERT_TRUE(imported.ok()) << imported;
    }
    shell_->CopyCharts();
    // Nothing makes Services work here, so workers dial the only replica itself.
    shell_->Run(
        "helm install muster charts/muster --namespace=muster-system --create-namespace"
        " --set=image.repository=muster.test/operator,image.tag=test"
        " --set=workerImage.repository=muster.test/trainer,workerImage.tag=test"
        " --set=agentImage.repository=muster.test/agent,agentImage.tag=test"
        " --set=replicas=1,resources.requests.cpu=10m"
        " --set='extraArgs={--pod-coordinator=$(POD_IP):7443}'");
    shell_->Run(
        "kubectl label namespace muster-system pod-security.kubernetes.io/enforce=restricted &&"
        " kubectl rollout status deployment/muster-operator --namespace=muster-system"
        " --timeout=180s");
  }
  static void TearDownTestSuite() {
    shell_.reset();
    cluster_.reset();
  }

  static std::string Kubectl(const std::string& words) {
    return shell_->Run(absl::StrCat("kubectl --namespace=", cluster_->name_space(), " ", words));
  }
  static std::string Field(const std::string& object, const std::string& path) {
    return Kubectl(absl::StrCat("get ", object, " --output=jsonpath='{", path, "}'"));
  }
  static void WaitForSuccess(const std::string& job) {
    Kubectl(absl::StrCat("wait --for=condition=Succeeded --timeout=240s trainingjob/", job,
                         " || (kubectl --namespace=", cluster_->name_space(),
                         " describe trainingjobs,pods; false)"));
  }

  static std::unique_ptr<TestCluster> cluster_;
  static std::optional<ClusterShell> shell_;
};

std::unique_ptr<TestCluster> FirstJobTest::cluster_;
std::optional<ClusterShell> FirstJobTest::shell_;

TEST_F(FirstJobTest, ABuiltInTrainerTrainsToItsEndWithCheckpointsOnTheNode) {
  const auto made = cluster_->OnNode("node-0", {"mkdir", "--mode=0777", kCheckpoints});
  ASSERT_TRUE(made.ok() && made->ok());
  Kubectl(absl::StrCat("create configmap text --from-file=text.txt=", DataPath("docs/install.md")));
  const absl::Status applied = cluster_->Apply(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: first, namespace: )",
                                                            cluster_->name_space(), R"(}
spec:
  workers: {count: 2}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: /data/text.txt, tokenizer: {kind: Byte}}
    train: {steps: 20, globalBatch: 4, microBatch: 2, sequence: 32}
  checkpoint: {uri: /checkpoints/first, interval: {mode: Steps, steps: 10}}
  template:
    spec:
      containers:
      - name: worker
        volumeMounts:
        - {name: text, mountPath: /data}
        - {name: checkpoints, mountPath: /checkpoints}
      volumes:
      - {name: text, configMap: {name: text}}
      - {name: checkpoints, hostPath: {path: )",
                                                            kCheckpoints, "}}\n"));
  ASSERT_TRUE(applied.ok()) << applied;
  WaitForSuccess("first");
  EXPECT_EQ(Field("trainingjob/first", ".status.progress.step"), "20");
  EXPECT_EQ(Field("trainingjob/first", ".status.checkpoint.step"), "20");
  EXPECT_THAT(Kubectl("logs first-1-1"), HasSubstr("joined round=1"));
  const auto saved =
      cluster_->OnNode("node-0", {"ls", absl::StrCat(kCheckpoints, "/first/step-000000020/DONE")});
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(saved->ok()) << saved->err;
}

// The image has a static program and no library: the agent that runs it comes from ours.
TEST_F(FirstJobTest, ACommandOfAnAlmostEmptyImageRunsUnderTheAgent) {
  const absl::Status applied = cluster_->Apply(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: own, namespace: )",
                                                            cluster_->name_space(), R"(}
spec:
  workers: {count: 1}
  template:
    spec:
      containers:
      - {name: worker, image: "muster.test/agent:test", command: [/usr/bin/muster-agent, install, /tmp]}
)"));
  ASSERT_TRUE(applied.ok()) << applied;
  WaitForSuccess("own");
  EXPECT_EQ(Field("pod/own-0-1", ".spec.containers[0].command[0]"), "/var/lib/muster/muster-agent");
  EXPECT_EQ(Field("pod/own-0-1", ".status.initContainerStatuses[0].state.terminated.exitCode"),
            "0");
}

}  // namespace
}  // namespace muster::tests
