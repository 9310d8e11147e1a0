#include "operator/placement/cluster/cluster_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

std::shared_ptr<SchedulingNode> Node(const std::string& name) {
  auto node = std::make_shared<SchedulingNode>();
  node->name = name;
  node->allocatable.cpu_millis = 8000;
  node->allowed_pods = 10;
  return node;
}

std::shared_ptr<SchedulingPod> Pod(const std::string& uid, const std::string& node, int64_t cpu) {
  auto pod = std::make_shared<SchedulingPod>();
  pod->ns = "default";
  pod->name = uid;
  pod->uid = uid;
  pod->node = node;
  pod->holds.cpu_millis = cpu;
  return pod;
}

// Everything that can be asked of it, in one form for equal clusters.
std::map<std::string, std::string> Describe(const ClusterSnapshot& snapshot) {
  std::map<std::string, std::string> all;
  snapshot.ForEachNode([&](const NodeState& state) {
    std::set<std::string> pods;
    for (const PodPointer& pod : state.pods) pods.insert(pod->uid);
    for (const PodPointer& pod : state.nominated) pods.insert("nominated " + pod->uid);
    std::string text =
        std::to_string(state.free.cpu_millis) + " " + std::to_string(state.free_pods());
    for (const std::string& pod : pods) text += " " + pod;
    for (const auto& [name, amount] : state.held.scalars)
      text += amount == 0 ? "" : " " + name + std::to_string(amount);
    for (const auto& [port, count] : state.ports)
      text += " :" + std::to_string(port.port) + "x" + std::to_string(count);
    all[state.node->name] = text;
  });
  snapshot.ForEachAntiAffinePod([&](const SchedulingPod&, const NodeState& state) {
    all["shy on " + state.node->name] += ".";
  });
  for (const char* claim : {"c0", "c1"})
    all[claim] = std::to_string(snapshot.ClaimUsers("default", claim));
  all["nodes"] = std::to_string(snapshot.nodes());
  return all;
}

TEST(ClusterSnapshotTest, APodIsHeldAgainstItsNodeUntilItEnds) {
  ClusterSnapshot snapshot;
  const PodPointer pod = Pod("a", "n", 1000);
  snapshot.AddPod(pod);  // before its node is known
  EXPECT_EQ(snapshot.FindNode("n"), nullptr);
  snapshot.SetNode(Node("n"));
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 7000);
  EXPECT_EQ(snapshot.FindNode("n")->free_pods(), 9);
  snapshot.RemovePod(pod, "n");
  auto ended = Pod("a", "n", 2000);
  ended->ended = true;
  snapshot.AddPod(ended);
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 8000);
  snapshot.RemovePod(ended, "n");  // is not there
  snapshot.RemovePod(ended, "m");
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 8000);
}

TEST(ClusterSnapshotTest, ANodeThatComesBackStillHasItsPods) {
  ClusterSnapshot snapshot;
  snapshot.SetNode(Node("n"));
  snapshot.AddPod(Pod("a", "n", 1000));
  snapshot.RemoveNode("n");
  EXPECT_EQ(snapshot.FindNode("n"), nullptr);
  EXPECT_EQ(snapshot.nodes(), 0);
  snapshot.SetNode(Node("n"));
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 7000);
}

TEST(ClusterSnapshotTest, OneObjectMayBeManyPodsInManyPlaces) {
  ClusterSnapshot snapshot;
  snapshot.SetNode(Node("n"));
  snapshot.SetNode(Node("m"));
  const PodPointer alike = Pod("", "", 1000);
  for (const char* node : {"n", "n", "m"}) snapshot.AddPod(alike, node);
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 6000);
  snapshot.RemovePod(alike, "n");
  EXPECT_EQ(snapshot.FindNode("n")->free.cpu_millis, 7000);
  EXPECT_EQ(snapshot.FindNode("m")->free.cpu_millis, 7000);
}

TEST(ClusterSnapshotTest, AStateThatIsSharedStaysAsItIs) {
  ClusterSnapshot snapshot;
  EXPECT_EQ(snapshot.ShareNode("n"), nullptr);
  snapshot.SetNode(Node("n"));
  const auto before = snapshot.ShareNode("n");
  EXPECT_EQ(snapshot.ShareNode("n"), before);
  snapshot.AddPod(Pod("a", "n", 1000));
  EXPECT_NE(snapshot.ShareNode("n"), before);
  EXPECT_EQ(before->free.cpu_millis, 8000);
}

TEST(ClusterSnapshotTest, ACopyAndItsOriginGoTheirOwnWays) {
  const PodPointer a = Pod("a", "n", 1000);
  const PodPointer b = Pod("b", "n", 1000);
  ClusterSnapshot first;
  first.SetNode(Node("n"));
  first.AddPod(a);
  ClusterSnapshot second = first;
  second.AddPod(b);
  first.RemovePod(a, "n");
  const ClusterSnapshot third = second;
  second.RemovePod(a, "n");
  EXPECT_EQ(first.FindNode("n")->free.cpu_millis, 8000);
  EXPECT_EQ(second.FindNode("n")->free.cpu_millis, 7000);
  EXPECT_EQ(third.FindNode("n")->free.cpu_millis, 6000);
  first = third;
  first.RemovePod(b, "n");
  EXPECT_EQ(third.FindNode("n")->free.cpu_millis, 6000);
  EXPECT_EQ(first.FindNode("n")->free.cpu_millis, 7000);
}

TEST(ClusterSnapshotTest, CountsFaultyNodesByFault) {
  ClusterSnapshot snapshot;
  auto liar = Node("n");
  liar->complaint = NodeComplaint{NodeFault::kAbsurdAmount, "x"};
  snapshot.SetNode(liar);
  snapshot.SetNode(Node("m"));
  EXPECT_EQ(snapshot.faults(), (std::map<NodeFault, int64_t>{{NodeFault::kAbsurdAmount, 1}}));
  snapshot.SetNode(Node("n"));
  EXPECT_TRUE(snapshot.faults().empty());
}

// A random pod: perhaps nominated, with a port, a claim, anti-affinity, a GPU.
std::shared_ptr<SchedulingPod> RandomPod(std::mt19937_64& random, int uid) {
  const auto below = [&](uint64_t end) { return static_cast<int>(random() % end); };
  auto pod = Pod("p" + std::to_string(uid), "n" + std::to_string(below(4)), 100 * (1 + below(5)));
  if (below(5) == 0) std::swap(pod->node, pod->nominated);
  if (below(3) == 0) pod->host_ports.push_back({"0.0.0.0", "TCP", 80 + below(2)});
  if (below(3) == 0) pod->holds.SetScalar("nvidia.com/gpu", 1 + below(2));
  if (below(2) == 0) {
    auto wants = std::make_shared<PodConstraints>();
    if (below(2) == 0) wants->claims.push_back({"c" + std::to_string(below(2)), false});
    if (below(2) == 0) wants->anti_affinity.emplace_back();
    pod->constraints = std::move(wants);
  }
  pod->ended = below(10) == 0;
  return pod;
}

void Remove(const PodPointer& pod, ClusterSnapshot& snapshot) {
  if (pod == nullptr || pod->ended) return;
  if (!pod->node.empty()) return snapshot.RemovePod(pod, pod->node);
  snapshot.RemoveNominated(pod, pod->nominated);
}

// A snapshot built in any order, and copied in between, equals one that is built from what is left.
TEST(ClusterSnapshotTest, EqualsOneBuiltAnewAfterAnyHistory) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    ClusterSnapshot snapshot;
    std::vector<ClusterSnapshot> copies;
    std::map<std::string, PodPointer> pods;
    std::set<std::string> nodes;
    for (int step = 0; step < 120; ++step) {
      const std::string node = "n" + std::to_string(random() % 4);
      switch (random() % 8) {
        case 0:
          snapshot.SetNode(Node(node));
          nodes.insert(node);
          break;
        case 1:
          snapshot.RemoveNode(node);
          nodes.erase(node);
          break;
        case 2: {
          const std::string uid = "p" + std::to_string(random() % 20);
          Remove(pods[uid], snapshot);
          pods.erase(uid);
          break;
        }
        case 3:
          if (step % 5 == 0) copies.push_back(snapshot);
          break;
        default: {
          const auto pod = RandomPod(random, static_cast<int>(random() % 20));
          Remove(pods[pod->uid], snapshot);
          snapshot.AddPod(pod);
          pods[pod->uid] = pod;
        }
      }
    }
    ClusterSnapshot anew;
    for (const std::string& node : nodes) anew.SetNode(Node(node));
    for (const auto& [uid, pod] : pods) anew.AddPod(pod);
    ASSERT_EQ(Describe(snapshot), Describe(anew)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::control
