// Tests that nothing is left of nodes and their pods, whenever and however they end.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/process/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testenv/second_control_plane.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodesCrashTest : public SecondControlPlaneTest {
 protected:
  NodesCrashTest() : SecondControlPlaneTest("nodes-crash", {"--nodes=1"}) {}

  bool IsUp() const { return fs::exists(folder_ + "/ready"); }
  bool NodeHas(const std::string& file) const {
    return fs::exists(absl::StrCat(folder_, "/nodes/node-0/", file));
  }

  // Runs a pod on node-0 until it is ready.
  void RunPod() {
    const CommandResult made =
        Tool("exec", {"--", "kubectl", "run", "pod", "--image=muster.test/pause:1",
                      R"(--overrides={"spec":{"nodeName":"node-0"}})"});
    ASSERT_TRUE(made.ok()) << made.err;
    const CommandResult ready = Tool(
        "exec", {"--", "kubectl", "wait", "--for=condition=Ready", "pod/pod", "--timeout=100s"});
    ASSERT_TRUE(ready.ok()) << ready.err;
  }

  // Returns the file by which the node's pods are frozen; empty if it does not exist.
  std::string Freezer() const {
    const std::string pods = fs::path(netns_).filename().string() + "/node-0/kubepods/";
    for (const std::string& file : {"/sys/fs/cgroup/freezer/" + pods + "freezer.state",
                                    "/sys/fs/cgroup/" + pods + "cgroup.freeze"}) {
      if (fs::exists(file)) return file;
    }
    return "";
  }

  static std::string MachineSettings() {
    std::string values, value;
    for (const char* name : {"vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"}) {
      std::ifstream(absl::StrCat("/proc/sys/", name)) >> value;
      absl::StrAppend(&values, name, "=", value, " ");
    }
    return values;
  }
};

TEST_F(NodesCrashTest, UpKilledHalfWayIsCleanedByDown) {
  const std::vector<std::function<bool()>> moments = {
      [&] { return NodeHas("mount"); },
      [&] { return NodeHas("mounted"); },
      [&] { return LogsExist("containerd-0"); },
      [&] { return NodeHas("containerd/io.containerd.metadata.v1.bolt/meta.db"); },
      [&] { return NodeHas("kubelet.kubeconfig"); },
      [&] { return NodeHas("kubelet/pods"); },
  };
  for (size_t i = 0; i < moments.size(); ++i) {
    const auto up = BeginUp();
    ASSERT_NE(up, nullptr);
    ASSERT_TRUE(WaitFor(moments[i])) << i;
    ASSERT_TRUE(up->Signal(SIGKILL).ok()) << i;
    EXPECT_EQ(EndOf(*up).signal, SIGKILL) << i;
    const CommandResult down = Tool("down");
    EXPECT_TRUE(down.ok()) << i << ": " << down.err;
    EXPECT_THAT(LeftOvers(), IsEmpty()) << i;
  }
}

TEST_F(NodesCrashTest, DownLeavesNothingOfPodsAndKeepsTheMachinesSettings) {
  const std::string before = MachineSettings();
  const CommandResult up = Up();
  ASSERT_TRUE(up.ok()) << up.err;
  RunPod();
  EXPECT_EQ(MachineSettings(), before);
  const CommandResult down = Tool("down");
  EXPECT_TRUE(down.ok()) << down.err;
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

TEST_F(NodesCrashTest, FrozenPodsOfAKilledTestEnd) {
  const auto with = Begin("with", {"--", "sleep", "1000"});
  ASSERT_NE(with, nullptr);
  ASSERT_TRUE(WaitFor([&] { return IsUp(); }));
  RunPod();
  ASSERT_NE(Freezer(), "");
  std::ofstream(Freezer()) << (Freezer().ends_with("freezer.state") ? "FROZEN" : "1");
  ASSERT_TRUE(with->Signal(SIGKILL).ok());
  EndOf(*with);
  const auto down =
      TestCluster::Run({tool_, "down", "--name=crash-nobody", "--abandoned"}, "", kDeadline);
  ASSERT_TRUE(down.ok()) << down.status();
  EXPECT_TRUE(down->ok()) << down->err;
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

TEST_F(NodesCrashTest, ANodeThatCannotBeMadeIsExplained) {
  const auto up = TestCluster::Run({"setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all",
                                    tool_, "up", "--name=" + name_, "--nodes=1"});
  ASSERT_TRUE(up.ok()) << up.status();
  EXPECT_EQ(up->exit.code, 1);
  EXPECT_THAT(up->err, HasSubstr("nodes need namespaces and mounts of their own, which this "
                                 "machine does not allow"));
  EXPECT_THAT(LeftOvers(), IsEmpty());
}

}  // namespace
}  // namespace muster::tests
