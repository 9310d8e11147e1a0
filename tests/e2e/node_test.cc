// Tests how muster-local-nodes runs pods that muster did not create, with the rights of a node.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using kube::Find;
using kube::StringAt;
using testing::HasSubstr;
using testing::StartsWith;

class NodeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto world = E2eWorld::Create();
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    const absl::Status started = world_->StartNode("solo");
    ASSERT_TRUE(started.ok()) << started;
  }
  static void TearDownTestSuite() { delete std::exchange(world_, nullptr); }
  void SetUp() override { ASSERT_NE(world_, nullptr); }

  // Creates a pod and binds it to the node as any scheduler would. `container` and `spec` are
  // further fields.
  void Run(const std::string& name, const std::string& command, const std::string& container = "",
           const std::string& spec = "") {
    const std::string pod = absl::StrCat(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: ", name, ", labels: {color: red}}\nspec:\n",
        "  nodeName: solo\n  restartPolicy: Never\n  automountServiceAccountToken: false\n", spec,
        "  containers:\n  - name: worker\n    image: none\n    command: ", command, "\n",
        container);
    const absl::Status applied = world_->cluster().Apply(pod);
    ASSERT_TRUE(applied.ok()) << applied;
  }
  Json WaitForPhase(const std::string& name, const std::string& phase) {
    Json pod;
    const absl::Status status = world_->WaitFor(absl::StrCat(name, " is ", phase), [&] {
      auto now = world_->cluster().Get(kube::kPods, name);
      if (now.ok()) pod = *std::move(now);
      return StringAt(pod, {"status", "phase"}) == phase;
    });
    EXPECT_TRUE(status.ok()) << status << DumpJson(pod, 1);
    return pod;
  }
  static Json Terminated(const Json& pod) {
    const Json* all = Find(pod, {"status", "containerStatuses"});
    return all == nullptr ? Json() : (*all)[0]["state"]["terminated"];
  }
  std::string Log(const Json& pod) {
    return ReadFile(FileSystem(),
                    absl::StrCat(world_->folder(), "/solo/pods/", kube::NamespaceOf(pod), "_",
                                 kube::NameOf(pod), "_", kube::UidOf(pod), "/logs/agent.log"))
        .value_or("(none)");
  }

  static E2eWorld* world_;
};
E2eWorld* NodeTest::world_ = nullptr;

TEST_F(NodeTest, TheNodeAndItsLeaseAreThereAndRenewed) {
  auto node = world_->cluster().Get(kube::kNodes, "solo");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(ConditionOf(*node, "Ready"), "True/LocalNodeReady");
  EXPECT_EQ(StringAt(*node, {"status", "allocatable", "cpu"}), "1");
  const auto lease = [&] {
    return world_->cluster().api().Get(kube::kLeases, {"kube-node-lease", "solo"}).value_or(Json());
  };
  ASSERT_TRUE(world_->WaitFor("it has a lease", [&] { return lease().is_object(); }).ok());
  const Json first = lease();
  EXPECT_EQ(StringAt(first, {"spec", "holderIdentity"}), "solo");
  EXPECT_EQ(first["metadata"]["ownerReferences"][0]["uid"], kube::UidOf(*node));
  const auto renewed = [&] {
    const Json before = lease();
    return world_->WaitFor("the lease is renewed", [&] {
      return lease()["spec"]["renewTime"] != before["spec"]["renewTime"];
    });
  };
  // The controller-manager also writes to a new node.
  ASSERT_TRUE(renewed().ok());
  node = world_->cluster().Get(kube::kNodes, "solo");
  ASSERT_TRUE(node.ok()) << node.status();
  // The node object is not written between two renewals.
  ASSERT_TRUE(renewed().ok());
  EXPECT_EQ(kube::ResourceVersionOf(*world_->cluster().Get(kube::kNodes, "solo")),
            kube::ResourceVersionOf(*node));
}

TEST_F(NodeTest, APodsEndIsReportedWithItsCodeAndReason) {
  Run("good", "[\"true\"]");
  Run("bad", "[sh, -c, \"exit 7\"]");
  Run("odd", "[/no/such/program]");
  const Json good = WaitForPhase("good", "Succeeded");
  EXPECT_EQ(StringAt(Terminated(good), {"reason"}), "Completed");
  EXPECT_EQ(ConditionOf(good, "Ready"), "False/PodCompleted");
  const Json bad = WaitForPhase("bad", "Failed");
  EXPECT_EQ(Terminated(bad)["exitCode"], 7);
  EXPECT_EQ(StringAt(Terminated(bad), {"reason"}), "Error");
  const Json odd = WaitForPhase("odd", "Failed");
  EXPECT_EQ(StringAt(Terminated(odd), {"reason"}), "StartError");
  EXPECT_THAT(StringAt(Terminated(odd), {"message"}), HasSubstr("/no/such/program"));
}

TEST_F(NodeTest, APodThatDoesNotFitIsRefusedAsKubeletDoes) {
  Run("wide", "[\"true\"]", "    resources: {requests: {cpu: 1500m}}\n");
  const Json wide = WaitForPhase("wide", "Failed");
  EXPECT_EQ(StringAt(wide, {"status", "reason"}), "OutOfcpu");
  EXPECT_EQ(StringAt(wide, {"status", "message"}),
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 0, "
            "capacity: 1000");
  EXPECT_TRUE(Terminated(wide).is_null());
  Run("gpu", "[\"true\"]", "    resources: {limits: {nvidia.com/gpu: 1}}\n");
  EXPECT_EQ(StringAt(WaitForPhase("gpu", "Failed"), {"status", "reason"}), "OutOfnvidia.com/gpu");
  Run("picky", "[\"true\"]", "", "  nodeSelector: {disk: fast}\n");
  EXPECT_EQ(StringAt(WaitForPhase("picky", "Failed"), {"status", "reason"}), "NodeAffinity");
}

TEST_F(NodeTest, VolumesHoldTokensMapsSecretsAndThePodItself) {
  ASSERT_TRUE(world_->cluster()
                  .Apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"from "
                         "the map \"}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: "
                         "s}\nstringData: {b: \"from the secret \"}\n")
                  .ok());
  Run("volumes", "[cat, /all/a, /all/b, /all/labels, /all/sub/token]",
      "    volumeMounts: [{name: all, mountPath: /all}]\n",
      "  volumes:\n  - name: all\n    projected:\n      sources:\n"
      "      - serviceAccountToken: {path: sub/token, audience: someone, expirationSeconds: 600}\n"
      "      - configMap: {name: m}\n      - secret: {name: s}\n"
      "      - downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: "
      "\"metadata.labels['color']\"}}]}\n");
  const Json pod = WaitForPhase("volumes", "Succeeded");
  EXPECT_THAT(Log(pod), StartsWith("from the map from the secret redey")) << "a token is base64";
  // The token is bound to this pod.
  const std::string token = Log(pod).substr(Log(pod).find("redey") + 3);
  const auto review = world_->cluster().Kubectl(
      {"create", "--output=json", "--filename=-"},
      absl::StrCat("apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nspec: {audiences: "
                   "[someone], token: ",
                   token, "}\n"));
  ASSERT_TRUE(review.ok() && review->ok()) << review->err;
  EXPECT_THAT(review->out, HasSubstr(kube::UidOf(pod)));
}

TEST_F(NodeTest, APodWaitsForWhatItMounts) {
  Run("waits", "[cat, /late/key]", "    volumeMounts: [{name: late, mountPath: /late}]\n",
      "  volumes: [{name: late, configMap: {name: late}}]\n");
  ASSERT_TRUE(world_
                  ->WaitFor("the pod says what it waits for",
                            [&] {
                              const auto pod = world_->cluster().Get(kube::kPods, "waits");
                              return pod.ok() &&
                                     absl::StrContains(DumpJson(*pod), "ContainerCreating");
                            })
                  .ok());
  ASSERT_TRUE(
      world_->cluster()
          .Apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\ndata: {key: now}\n")
          .ok());
  EXPECT_EQ(Log(WaitForPhase("waits", "Succeeded")), "now");
}

TEST_F(NodeTest, DeletionGivesThePodItsGraceAndRemovesAllOfIt) {
  Run("polite",
      "[sh, -c, \"trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done\"]");
  const Json pod = WaitForPhase("polite", "Running");
  ASSERT_TRUE(world_->WaitFor("it is up", [&] { return Log(pod) == "up\n"; }).ok());
  // kubectl returns once the pod is gone.
  const auto deleted = world_->cluster().Kubectl({"delete", "pod", "polite"});
  ASSERT_TRUE(deleted.ok() && deleted->ok()) << deleted->err;
  EXPECT_TRUE(world_->WaitFor("its folder is gone", [&] { return Log(pod) == "(none)"; }).ok());
}

}  // namespace
}  // namespace muster::tests
