// Tests which pods and network policies of jobs a real API server admits.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_job.h"
#include "operator/core/state/plan.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/reconcile/pod/job_network_policy.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "tests/testenv/test_cluster.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class AdmissionTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = tests::TestCluster::Create("admission");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    ns_ = cluster_->name_space();
    const auto labelled = cluster_->Kubectl(
        {"label", "namespace", ns_, "pod-security.kubernetes.io/enforce=restricted"});
    ASSERT_TRUE(labelled.ok()) << labelled.status();
    ASSERT_TRUE(labelled->ok()) << labelled->err;
    ASSERT_EQ(cluster_->InstallCrd(), absl::OkStatus());
    ASSERT_TRUE(cluster_
                    ->Apply(absl::StrCat("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "
                                         "trainer, namespace: ",
                                         ns_, "}\n"))
                    .ok());
    const absl::Status applied = cluster_->Apply(absl::StrCat(R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: gpt, namespace: )",
                                                              ns_, R"(}
spec:
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: /data/text.txt}
    train: {steps: 10, globalBatch: 2, microBatch: 1, sequence: 32}
)"));
    ASSERT_TRUE(applied.ok()) << applied;
    const auto stored = cluster_->Get(kube::kTrainingJobs, "gpt");
    ASSERT_TRUE(stored.ok()) << stored.status();
    job_ = *ParseTrainingJob(*stored);
  }

  // Creates the pod of a worker as the operator does on a cluster.
  absl::Status CreateWorker(const TrainingJob& job) {
    CreatePod create;
    create.name = absl::StrCat(job.name, "-0-", ++incarnation_);
    create.ranks = 1;
    create.env = {{"MUSTER_JOB", job.name}};
    PodBuilderOptions options{"10.0.0.1:7443", "muster/trainer:1", "muster/agent:1"};
    options.containers = true;
    options.coordinator_ca = "pem";
    const auto pod = BuildPod(job, create, options);
    if (!pod.ok()) return pod.status();
    return cluster_->api().Create(kube::kPods, *pod, {.timeout = kPatience}).status();
  }
  absl::Status CreateWithTemplate(const std::string& spec) {
    TrainingJob job = job_;
    const std::string given =
        absl::StrCat(R"({"spec": {"serviceAccountName": "trainer", )", spec, "}}");
    job.spec.mutable_template_()->set_raw(given);
    return CreateWorker(job);
  }
  absl::Status CreateCommand(const std::string& context) {
    TrainingJob job = job_;
    job.spec.clear_trainer();
    job.spec.mutable_template_()->set_raw(absl::StrCat(
        R"({"spec": {"serviceAccountName": "trainer", "containers": [{"name": "worker",
            "image": "mine", "command": ["train"])",
        context, "}]}}"));
    return CreateWorker(job);
  }

  std::unique_ptr<tests::TestCluster> cluster_;
  std::string ns_;
  TrainingJob job_;
  int incarnation_ = 0;
};

constexpr char kRestricted[] = R"(, "securityContext": {"runAsNonRoot": true,
    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"}})";

TEST_F(AdmissionTest, ABuiltInWorkerPassesANamespaceThatEnforcesRestricted) {
  const absl::Status created = CreateWithTemplate(R"("containers": [])");
  EXPECT_TRUE(created.ok()) << created;
  const auto pod = cluster_->Get(kube::kPods, absl::StrCat("gpt-0-", incarnation_));
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& spec = (*pod)["spec"];
  EXPECT_EQ(spec["serviceAccountName"], "trainer");
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 30);
  EXPECT_EQ(spec["volumes"].size(), 2u) << "the coordinator's token and /dev/shm";
}

TEST_F(AdmissionTest, ATemplateThatAsksForMoreIsRefusedThere) {
  const absl::Status refused = CreateWithTemplate(
      R"("containers": [{"name": "worker", "securityContext": {"privileged": true}}])");
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("violates PodSecurity \"restricted"));
  const absl::Status root = CreateWithTemplate(R"("securityContext": {"runAsUser": 0})");
  EXPECT_THAT(root.message(), HasSubstr("runAsUser=0"));
}

// The init container and the mounts that bring the agent keep a pod within the standard.
TEST_F(AdmissionTest, ACommandsPodPassesWhereItsOwnContainersDo) {
  const absl::Status passed = CreateCommand(kRestricted);
  EXPECT_TRUE(passed.ok()) << passed;
  const absl::Status refused = CreateCommand("");
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("container \"worker\" must set"));
  EXPECT_THAT(refused.message(), testing::Not(HasSubstr("\"muster-agent\" must set")));
}

TEST_F(AdmissionTest, AJobsNetworkPolicyIsWrittenOnceAndBelongsToTheJob) {
  const auto version = [&] {
    const auto stored = cluster_->Get(kube::kNetworkPolicies, "gpt-workers");
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.ok() ? kube::ResourceVersionOf(*stored) : "";
  };
  const absl::Status first = EnsureNetworkPolicy(cluster_->api(), job_, "muster-system");
  ASSERT_TRUE(first.ok()) << first;
  const std::string before = version();
  const absl::Status second = EnsureNetworkPolicy(cluster_->api(), job_, "muster-system");
  ASSERT_TRUE(second.ok()) << second;
  EXPECT_EQ(version(), before) << "the server's own defaults are no difference";
  const absl::Status other = EnsureNetworkPolicy(cluster_->api(), job_, "elsewhere");
  ASSERT_TRUE(other.ok()) << other;
  EXPECT_NE(version(), before);
  const auto stored = cluster_->Get(kube::kNetworkPolicies, "gpt-workers");
  ASSERT_TRUE(stored.ok()) << stored.status();
  // With its owner the garbage collector deletes it.
  EXPECT_EQ(kube::ControllerOf(*stored)->uid, job_.uid);
}

}  // namespace
}  // namespace muster::control
