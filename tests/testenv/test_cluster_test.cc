// Tests the properties of the shared control plane that other tests rely on.

#include "tests/testenv/test_cluster.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

class TestClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto cluster = TestCluster::Create("testenv");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  std::unique_ptr<TestCluster> cluster_;
};

TEST_F(TestClusterTest, ServerAndToolsHaveThePinnedVersion) {
  const auto result = cluster_->Kubectl({"version", "--output=json"});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto versions = ParseJson(result->out);
  ASSERT_TRUE(versions.ok()) << result->out << result->err;
  EXPECT_EQ((*versions)["serverVersion"]["gitVersion"], "v1.35.4");
  EXPECT_EQ((*versions)["clientVersion"]["gitVersion"], "v1.35.4");
  const auto helm = TestCluster::Run({cluster_->Program("helm"), "version", "--short"});
  ASSERT_TRUE(helm.ok()) << helm.status();
  EXPECT_THAT(helm->out, HasSubstr("v3.20.2"));
}

TEST_F(TestClusterTest, OneProgramIsEveryComponentByTheNameItIsCalledBy) {
  const auto says = [&](const std::string& name) {
    EXPECT_TRUE(
        std::filesystem::equivalent(cluster_->Program(name), cluster_->Program("controlplane")));
    const auto version = TestCluster::Run({cluster_->Program(name), "--version"});
    EXPECT_TRUE(version.ok()) << version.status();
    return version.ok() ? version->out + version->err : "";
  };
  EXPECT_THAT(says("etcd"), HasSubstr("etcd Version: 3.6.5"));
  for (const char* name :
       {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}) {
    EXPECT_THAT(says(name), HasSubstr("Kubernetes v1.35.4")) << name;
  }
  const auto nameless = TestCluster::Run({cluster_->Program("controlplane"), "--version"});
  ASSERT_TRUE(nameless.ok()) << nameless.status();
  EXPECT_EQ(nameless->exit.code, 2);
  EXPECT_THAT(nameless->err, HasSubstr("controlplane is no program of the control plane"));
}

TEST_F(TestClusterTest, AnAccountWithoutARoleIsRefused) {
  const auto config = cluster_->ServiceAccountKubeconfig("nobody");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto as_nobody = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {cluster_->Program("kubectl"), "--kubeconfig=" + *config};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return TestCluster::Run(argv);
  };
  const auto refused = as_nobody({"get", "pods"});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_NE(refused->exit.code, 0);
  EXPECT_THAT(refused->err, HasSubstr(absl::StrCat("system:serviceaccount:", cluster_->name_space(),
                                                   ":nobody\" cannot list resource \"pods\"")));
  const absl::Status bound = cluster_->Apply(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: see-pods}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nobody-sees-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: see-pods}
subjects: [{kind: ServiceAccount, name: nobody}]
)");
  ASSERT_TRUE(bound.ok()) << bound;
  const auto allowed = as_nobody({"get", "pods"});
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_EQ(allowed->exit.code, 0) << allowed->err;
}

TEST_F(TestClusterTest, ANodeMayWriteItselfOnly) {
  const std::string node = cluster_->Unique("node"), other = cluster_->Unique("other");
  const auto config = cluster_->UserKubeconfig("system:node:" + node, {"system:nodes"});
  ASSERT_TRUE(config.ok()) << config.status();
  const auto create = [&](const std::string& name) {
    const std::string object =
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + "\"}}";
    return TestCluster::Run(
        {cluster_->Program("kubectl"), "--kubeconfig=" + *config, "create", "--filename=-"},
        object);
  };
  const auto own = create(node);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->exit.code, 0) << own->err;
  const auto refused = create(other);
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_THAT(refused->err, HasSubstr("is not allowed to modify node"));
  EXPECT_TRUE(cluster_->Kubectl({"delete", "node", node})->ok());
}

TEST_F(TestClusterTest, ControllersRun) {
  const absl::Status applied = cluster_->Apply(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: pods-please}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}
)");
  ASSERT_TRUE(applied.ok()) << applied;
  const auto made =
      cluster_->Kubectl({"wait", "--for=create", "pod",
                         "--selector=batch.kubernetes.io/job-name=pods-please", "--timeout=150s"});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->exit.code, 0) << made->err;
}

TEST_F(TestClusterTest, ServesTrainingJobs) {
  const absl::Status installed = cluster_->InstallCrd();
  ASSERT_TRUE(installed.ok()) << installed;
  const auto jobs = cluster_->List(kube::kTrainingJobs);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_TRUE(jobs->empty());
}

TEST_F(TestClusterTest, ANamespaceIsDeletedWithItsTest) {
  const std::string name = cluster_->name_space();
  ASSERT_TRUE(cluster_->Get(kube::kNamespaces, name).ok());
  cluster_.reset();
  auto other = TestCluster::Create("testenv");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE((*other)->name_space(), name);
  const auto gone =
      (*other)->Kubectl({"wait", "--for=delete", "namespace/" + name, "--timeout=150s"});
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_EQ(gone->exit.code, 0) << gone->err;
  EXPECT_EQ((*other)->Get(kube::kNamespaces, name).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TestClusterTest, TheSharedControlPlaneMayNotBeBroken) {
  EXPECT_FALSE(cluster_->is_private());
  EXPECT_EQ(cluster_->Kill("etcd").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::tests
