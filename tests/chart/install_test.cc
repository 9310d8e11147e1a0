// Runs the commands of docs/install.md on a real control plane. It has no kubelets: pods are made
// and admitted, and never start. tests/cluster/install_page_test.cc runs those that need nodes.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/testenv/cluster_shell.h"
#include "tests/testenv/page_blocks.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr kube::ResourceType kDeployments{"apps", "v1", "deployments", "Deployment", true, true};
constexpr char kNamespace[] = "muster-system";
constexpr char kOperator[] = "muster-operator";
constexpr char kJobDefinition[] = "trainingjobs.muster.dev";

class InstallTest : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = TestCluster::Create("install");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    shell_.emplace(*cluster_, "install", kPatience);
    shell_->CopyCharts();  // the page's commands expect them in their folder
    page_ = ReadFile(FileSystem(), DataPath("docs/install.md")).value_or("");
    shell_->Run("touch values.yaml");  // all values are the chart's
  }

  CommandResult Try(const std::string& commands) { return shell_->Try(commands); }
  std::string Shell(const std::string& commands) { return shell_->Run(commands); }
  // Runs a block of the page.
  std::string Documented(const std::string& block) {
    done_.insert(block);
    const std::string commands = BlockAfter(page_, absl::StrCat("run: ", block));
    EXPECT_NE(commands, "") << block;
    return Shell(commands);
  }

  std::string Field(const std::string& kind_and_name, const std::string& path) {
    return Shell(absl::StrCat("kubectl get ", kind_and_name, " --namespace=", kNamespace,
                              " --output=jsonpath='{", path, "}'"));
  }
  // Waits until the Deployment has made its pods: the namespace's Pod Security admitted them.
  void ExpectPods(int count) {
    Shell(absl::StrCat("kubectl wait --namespace=", kNamespace,
                       " --for=jsonpath='{.status.replicas}'=", count,
                       " --timeout=150s deployment/", kOperator));
  }
  // Runs the installed operator as run_operator.sh says.
  std::string RunOperator() {
    return Shell(absl::StrCat(DataPath("tests/chart/run_operator.sh"), " ",
                              DataPath("operator/muster-operator"), " ",
                              DataPath("tests/crd/good.yaml")));
  }
  // The page says why objects are deleted before their definitions.
  void RemoveAll() {
    Shell(
        "kubectl delete trainingjobs --all --all-namespaces &&"
        " kubectl delete trainingqueues --all &&"
        " helm uninstall muster --namespace=muster-system &&"
        " kubectl delete namespace muster-system &&"
        " kubectl delete customresourcedefinition trainingjobs.muster.dev "
        "trainingqueues.muster.dev");
  }
  bool HasDeployment() { return cluster_->api().Get(kDeployments, {kNamespace, kOperator}).ok(); }
  std::string UidOfDefinition() {
    const auto found = cluster_->Get(kube::kCustomResourceDefinitions, kJobDefinition);
    return found.ok() ? kube::UidOf(*found) : "";
  }

  std::string page_;
  std::set<std::string> done_;
  std::unique_ptr<TestCluster> cluster_;
  std::optional<ClusterShell> shell_;
};

TEST_F(InstallTest, EveryCommandOfThePageWorksFromInstallingToRemoving) {
  EXPECT_THAT(Documented("install"), HasSubstr("STATUS: deployed"));
  ExpectPods(3);
  const std::string rights = absl::StrCat(
      "kubectl auth can-i --as=system:serviceaccount:", kNamespace, ":", kOperator, " ");
  EXPECT_EQ(Shell(rights + "create pods"), "yes\n");
  EXPECT_EQ(Try(rights + "get secrets --namespace=default").out, "no\n");
  EXPECT_EQ(Field("service/muster-operator", ".spec.ports[*].port"), "7443 8443");
  EXPECT_EQ(Field("poddisruptionbudget/muster-operator", ".spec.maxUnavailable"), "1");
  const std::string definition = UidOfDefinition();
  EXPECT_NE(definition, "");

  EXPECT_THAT(Documented("boards"), HasSubstr("muster-operator-job-board"));
  Documented("upgrade");
  const std::string args = ".spec.template.spec.containers[0].args";
  EXPECT_THAT(Field("deployment/muster-operator", args), HasSubstr("--log-format=json"));
  EXPECT_THAT(Documented("rollback"), HasSubstr("Rollback was a success"));
  EXPECT_THAT(Field("deployment/muster-operator", args), HasSubstr("--log-format=text"));
  const CommandResult wrong =
      Try("helm upgrade muster charts/muster --namespace=muster-system --set=replicaCount=1");
  EXPECT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.err, HasSubstr("replicaCount"));

  ASSERT_TRUE(
      cluster_->Apply(ReadFile(FileSystem(), DataPath("tests/crd/good.yaml")).value_or("")).ok());
  EXPECT_THAT(Documented("uninstall"), HasSubstr("job"));
  EXPECT_FALSE(HasDeployment());
  EXPECT_EQ(UidOfDefinition(), definition);

  const CommandResult taken = Try("helm install training charts/muster --namespace=muster-system");
  EXPECT_FALSE(taken.ok());
  EXPECT_THAT(taken.err, HasSubstr("invalid ownership metadata"));
  EXPECT_THAT(Documented("another-name"), HasSubstr("STATUS: deployed"));
  ExpectPods(3);
  EXPECT_EQ(UidOfDefinition(), definition);
  EXPECT_TRUE(cluster_->Get(kube::kTrainingJobs, "job").ok());

  Documented("remove");
  EXPECT_EQ(UidOfDefinition(), "");

  EXPECT_THAT(Documented("kustomize"), HasSubstr("deployment.apps/muster-operator"));
  ExpectPods(3);
  Documented("kustomize-remove");
  EXPECT_EQ(UidOfDefinition(), "");

  EXPECT_THAT(BlockNames(page_, "run"), UnorderedElementsAreArray(done_))
      << "a block of the page is run by nobody";
}

TEST_F(InstallTest, TheOperatorLeadsAndMakesPodsWithTheFlagsAndRightsOfTheChart) {
  Shell(
      "helm install muster charts/muster --namespace=muster-system --create-namespace"
      " --set=workerImage.repository=workers,workerImage.tag=v7");
  const std::string told = RunOperator();
  const size_t at = told.find("service ");
  ASSERT_NE(at, std::string::npos);
  const std::string address = told.substr(at + 8, told.find('\n', at) - at - 8);
  EXPECT_THAT(told, HasSubstr("ok\n"));
  EXPECT_THAT(told, HasSubstr("\nworkers:v7\n"));
  EXPECT_THAT(told, HasSubstr(absl::StrCat("\nMUSTER_COORDINATOR=", address, ":7443\n")));
  EXPECT_THAT(told, HasSubstr("\nMUSTER_COORDINATOR_CA=-----BEGIN CERTIFICATE-----"));
  EXPECT_THAT(told, testing::Not(HasSubstr("networkpolicy")));
  RemoveAll();
}

TEST_F(InstallTest, AnOperatorOfOneNamespaceNeedsRightsOnJobsThereAlone) {
  Shell(
      "helm install muster charts/muster --namespace=muster-system --create-namespace"
      " --set=watchNamespace=default,networkPolicy.jobs=true");
  const std::string rights = absl::StrCat(
      "kubectl auth can-i --as=system:serviceaccount:", kNamespace, ":", kOperator, " ");
  EXPECT_EQ(Shell(rights + "create pods --namespace=default"), "yes\n");
  EXPECT_EQ(Try(rights + "create pods --namespace=muster-system").out, "no\n");
  EXPECT_EQ(Try(rights + "list trainingjobs --all-namespaces").out, "no\n");
  EXPECT_EQ(Shell(rights + "list pods --all-namespaces"), "yes\n") << "they take a node's room";
  EXPECT_THAT(RunOperator(), HasSubstr("networkpolicy.networking.k8s.io/job-workers\n"));
  RemoveAll();
}

// Golden files show what the chart makes of values; the server says whether it is valid. It does
// not know the objects of Prometheus Operator.
TEST_F(InstallTest, TheServerAcceptsWhatEachSetOfValuesGives) {
  Shell("kubectl create namespace research");  // the one that other_name watches
  for (const char* values : {"defaults", "single", "other_name", "monitored", "pinned"}) {
    Shell(absl::StrCat("helm template muster charts/muster --namespace=default --values=",
                       DataPath("tests/chart/values/"), values,
                       ".yaml --set=metrics.serviceMonitor.enabled=false"
                       " --set=metrics.prometheusRule.enabled=false |"
                       " kubectl apply --dry-run=server --filename=-"));
  }
}

}  // namespace
}  // namespace muster::tests
