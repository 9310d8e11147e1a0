// Tests the nodes of a control plane: their kubelets, containers and network, and how they fail.

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

constexpr char kPort[] = "8080";

std::string TestFile(const std::string& name) {
  return absl::StrCat(getenv("TEST_SRCDIR"), "/", getenv("TEST_WORKSPACE"), "/tests/testenv/",
                      name);
}

// Fixture with one pod on each of two nodes, "pod-0" and "pod-1", which greet every client.
class NodesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = TestCluster::Create("nodes");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    const absl::Status imported = cluster_->ImportImage("all", TestFile("greeter.tar"));
    ASSERT_TRUE(imported.ok()) << imported;
    Kubectl({"wait", "--for=create", "serviceaccount/default", "--timeout=150s"});
    StartPod("pod-0", "node-0");
    StartPod("pod-1", "node-1");
    Kubectl({"wait", "--for=condition=Ready", "pod/pod-0", "pod/pod-1", "--timeout=150s"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  // Makes a pod that greets every client.
  static void StartPod(const std::string& name, const std::string& node) {
    const absl::Status applied = cluster_->Apply(absl::Substitute(
        R"(
apiVersion: v1
kind: Pod
metadata: {name: $0, labels: {greeter: $0}}
spec:
  nodeName: $1
  terminationGracePeriodSeconds: 1
  containers: [{name: greeter, image: "muster.test/greeter:1", args: [serve, "$2", $0]}]
)",
        name, node, kPort));
    ASSERT_TRUE(applied.ok()) << applied;
  }

  // Returns the output; fails the test if kubectl does.
  static std::string Kubectl(const std::vector<std::string>& arguments) {
    const auto done = cluster_->Kubectl(arguments);
    EXPECT_TRUE(done.ok()) << done.status();
    if (!done.ok()) return "";
    EXPECT_TRUE(done->ok()) << done->err;
    return done->out;
  }

  static std::string Address(const std::string& pod) {
    return Kubectl({"get", "pod", pod, "--output=jsonpath={.status.podIP}"});
  }

  // Returns what a pod's container is answered.
  static absl::StatusOr<CommandResult> AskFrom(const std::string& pod, const std::string& address,
                                               const std::string& port) {
    return cluster_->Kubectl({"exec", pod, "--", "/greeter", "ask", address, port});
  }

  // Returns what this process, in the control plane's network, is answered.
  static std::string Ask(const std::string& address) {
    const auto asked = TestCluster::Run({TestFile("greeter"), "ask", address, kPort});
    EXPECT_TRUE(asked.ok()) << asked.status();
    return asked.ok() ? asked->out : "";
  }

  static bool Eventually(absl::FunctionRef<bool()> done) {
    const absl::Time deadline = Clock::Real().Monotonic() + kPatience;
    while (!done()) {
      if (Clock::Real().Monotonic() > deadline) return false;
      usleep(20'000);
    }
    return true;
  }

  // A kubelet that was just started learns its pods from the API server.
  static bool ExecWorksSoon(const std::string& pod) {
    return Eventually([&] {
      const auto asked = AskFrom(pod, Address(pod), kPort);
      return asked.ok() && asked->out == absl::StrCat("hello from ", pod, "\n");
    });
  }

  static std::string Restarts(const std::string& pod) {
    return Kubectl(
        {"get", "pod", pod, "--output=jsonpath={.status.containerStatuses[0].restartCount}"});
  }

  static std::unique_ptr<TestCluster> cluster_;
};

std::unique_ptr<TestCluster> NodesTest::cluster_;

TEST_F(NodesTest, EachNodeHasAnAddressAndPodsOfItsOwn) {
  EXPECT_EQ(Kubectl({"get", "nodes",
                     "--output=jsonpath={range .items[*]}{.metadata.name}={.status.addresses[0]."
                     "address} {end}"}),
            "node-0=10.99.0.10 node-1=10.99.0.11 ");
  EXPECT_THAT(Address("pod-0"), ::testing::StartsWith("10.244.0."));
  EXPECT_THAT(Address("pod-1"), ::testing::StartsWith("10.244.1."));
}

TEST_F(NodesTest, ANodesFilesAreItsOwnExceptBelowTheControlPlanesFolder) {
  const std::string own = "/var/lib/" + cluster_->Unique("own");
  const std::string shared =
      absl::StrCat(getenv("MUSTER_TESTENV_FOLDER"), "/", cluster_->Unique("shared"));
  const auto written = cluster_->OnNode("node-0", {"touch", own, shared});
  ASSERT_TRUE(written.ok() && written->ok()) << written->err;
  EXPECT_TRUE(cluster_->OnNode("node-0", {"ls", own, shared})->ok());
  EXPECT_FALSE(cluster_->OnNode("node-1", {"ls", own})->ok());
  EXPECT_FALSE(std::filesystem::exists(own));
  EXPECT_TRUE(cluster_->OnNode("node-1", {"ls", shared})->ok());
}

TEST_F(NodesTest, LogsAndExecReachAPodsNode) {
  EXPECT_EQ(Kubectl({"logs", "pod-0"}), "pod-0 serves\n");
  EXPECT_EQ(Kubectl({"logs", "pod-1"}), "pod-1 serves\n");
  const auto refused = cluster_->Kubectl({"exec", "pod-1", "--", "/greeter", "sing"});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->exit.code, 2);
  EXPECT_THAT(refused->err, HasSubstr("usage: greeter"));
}

TEST_F(NodesTest, PodsReachEachOtherByAddress) {
  EXPECT_EQ(AskFrom("pod-0", Address("pod-1"), kPort)->out, "hello from pod-1\n");
  EXPECT_EQ(AskFrom("pod-1", Address("pod-0"), kPort)->out, "hello from pod-0\n");
  EXPECT_EQ(Ask(Address("pod-1")), "hello from pod-1\n") << "from the control plane's network";
}

TEST_F(NodesTest, APodReachesTheApiServerByItsServiceAddress) {
  for (const std::string pod : {"pod-0", "pod-1"}) {
    const auto asked = AskFrom(pod, "10.96.0.1", "443");
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_THAT(asked->out, HasSubstr("Client sent an HTTP request to an HTTPS server"))
        << asked->err;
  }
}

TEST_F(NodesTest, AServiceLeadsToItsPodFromThatPodsNodeAndFromAnother) {
  StartPod("pod-2", "node-0");
  const absl::Status applied = cluster_->Apply(absl::Substitute(R"(
apiVersion: v1
kind: Service
metadata: {name: greeter}
spec: {selector: {greeter: pod-0}, ports: [{port: 80, targetPort: $0}]}
)",
                                                                kPort));
  ASSERT_TRUE(applied.ok()) << applied;
  Kubectl({"wait", "--for=condition=Ready", "pod/pod-2", "--timeout=150s"});
  const std::string address =
      Kubectl({"get", "service", "greeter", "--output=jsonpath={.spec.clusterIP}"});
  for (const std::string pod : {"pod-1", "pod-2"}) {
    EXPECT_TRUE(Eventually([&] {
      const auto asked = AskFrom(pod, address, "80");
      return asked.ok() && asked->out == "hello from pod-0\n";
    })) << pod;
  }
  Kubectl({"delete", "pod/pod-2"});
}

TEST_F(NodesTest, PodsOutliveContainerd) {
  ASSERT_TRUE(cluster_->Kill("containerd-0").ok());
  EXPECT_EQ(Ask(Address("pod-0")), "hello from pod-0\n");
  const absl::Status started = cluster_->Start("containerd-0");
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_TRUE(ExecWorksSoon("pod-0"));
  EXPECT_EQ(Restarts("pod-0"), "0");
}

TEST_F(NodesTest, ANodeWhoseKubeletWasKilledIsNotReadyButItsPodsRun) {
  ASSERT_TRUE(cluster_->Kill("kubelet-1").ok());
  Kubectl({"wait", "--for=condition=Ready=Unknown", "node/node-1", "--timeout=150s"});
  EXPECT_EQ(Ask(Address("pod-1")), "hello from pod-1\n");
  const absl::Status started = cluster_->Start("kubelet-1");
  ASSERT_TRUE(started.ok()) << started;
  Kubectl({"wait", "--for=condition=Ready", "node/node-1", "--timeout=150s"});
  EXPECT_TRUE(ExecWorksSoon("pod-1"));
  EXPECT_EQ(Restarts("pod-1"), "0");
}

TEST_F(NodesTest, PodsOfANodeThatLostItsPowerStartAgainWithIt) {
  ASSERT_TRUE(cluster_->Kill("node-0").ok());
  const absl::Status started = cluster_->Start("node-0");
  ASSERT_TRUE(started.ok()) << started;
  Kubectl({"wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/pod-0",
           "--timeout=150s"});
  EXPECT_TRUE(ExecWorksSoon("pod-0"));
}

TEST_F(NodesTest, OnlyANodeThatIsThereGetsAnImage) {
  const absl::Status imported = cluster_->ImportImage("node-2", TestFile("greeter.tar"));
  EXPECT_THAT(imported.message(), HasSubstr("has no node 'node-2': node-0, node-1"));
  const absl::Status no_image = cluster_->ImportImage("node-0", TestFile("greeter"));
  EXPECT_THAT(no_image.message(), HasSubstr("node-0 cannot import"));
}

}  // namespace
}  // namespace muster::tests
