#include "operator/placement/filter/filter_memo.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/placement/cluster/storage.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

constexpr char kGpus[] =
    "{'containers':[{'name':'c','resources':{'requests':{'nvidia.com/gpu':'3'}}}]}";

struct MemoWorld : FilterWorld {
  MemoWorld() {
    for (const char* name : {"n0", "n1", "n2"}) AddNode(name, "{'rack':'a'}");
  }
  FilteredNodes Ask(const SchedulingPod& pod) { return Ask(pod, memo); }
  FilteredNodes Ask(const SchedulingPod& pod, FilterMemo& asked) {
    Inventory inventory;
    std::vector<NodePointer> states;
    for (const char* name : {"n0", "n1", "n2"}) {
      states.push_back(snapshot.ShareNode(name));
      const NodeState& state = *states.back();
      inventory.nodes.push_back({name, TreeAmounts(state.free, state.free_pods())});
      inventory.nodes.back().schedulable = state.node->ready && !state.node->unschedulable;
    }
    return asked.NodesFor(pod, snapshot, TopologyTree(inventory), states);
  }
  void Nominate(SchedulingPod pod, const std::string& node) {
    pod.nominated = node;
    snapshot.AddPod(std::make_shared<SchedulingPod>(std::move(pod)));
  }
  FilterMemo memo{2};
};

using testing::HasSubstr;

TEST(FilterMemoTest, OnlyNodesThatChangedAreAskedAgain) {
  MemoWorld world;
  const auto first = world.Ask(PodOf("p", kGpus)).nodes;
  EXPECT_TRUE(first->closed.empty() && first->bounds.empty() && first->left_out.empty());
  EXPECT_EQ(world.memo.asked(), 3);
  // Another worker of the template.
  EXPECT_EQ(world.Ask(PodOf("q", kGpus, "other")).nodes, first);
  EXPECT_EQ(world.memo.asked(), 3);
  world.AddNode("n1", "{}", "{'taints':[{'key':'k','effect':'NoSchedule'}]}");
  const auto second = world.Ask(PodOf("p", kGpus)).nodes;
  EXPECT_EQ(second->closed, std::vector<int>{1});
  EXPECT_EQ(second->left_out, "1 has the taint k:NoSchedule");
  EXPECT_EQ(world.memo.asked(), 4);
}

TEST(FilterMemoTest, WhatTheTreeSeesIsLeftToItAndTheRestIsClosedOrBound) {
  MemoWorld world;
  for (const char* name : {"a", "b"}) world.Bind(PodOf(name, kGpus), "n1");
  EXPECT_TRUE(world.Ask(PodOf("p", kGpus)).nodes->closed.empty());
  // One for each node, though there is room for more.
  const auto ports = world.Ask(PodOf(
      "p", "{'hostNetwork':true,'containers':[{'name':'c','ports':[{'containerPort':80}]}]}"));
  ASSERT_EQ(ports.nodes->bounds.size(), 3u);
  EXPECT_EQ(ports.nodes->bounds[1].node, 1);
  EXPECT_EQ(ports.nodes->bounds[1].workers, 1);
  // The tree does not count this resource.
  const auto rdma = world.Ask(
      PodOf("p", "{'containers':[{'name':'c','resources':{'requests':{'rdma/hca':'1'}}}]}"));
  EXPECT_EQ(rdma.nodes->closed.size(), 3u);
  EXPECT_THAT(rdma.nodes->left_out, HasSubstr("3 lack rdma/hca"));
  // The tree counts GPUs, but not their kinds.
  const auto mig = world.Ask(PodOf(
      "p", "{'containers':[{'name':'c','resources':{'requests':{'nvidia.com/mig-1g.5gb':'1'}}}]}"));
  EXPECT_EQ(mig.nodes->closed.size(), 3u);
}

TEST(FilterMemoTest, CordonedNodesAreNamed) {
  MemoWorld world;
  world.AddNode("n2", "{}", "{'unschedulable':true}");
  EXPECT_EQ(world.Ask(PodOf("p")).nodes->left_out, "1 is cordoned");
}

TEST(FilterMemoTest, TemplatesAreToldApartAndTheLastOnesKept) {
  MemoWorld world;
  const std::vector<std::string> specs = {
      "{}",
      kGpus,
      "{'nodeSelector':{'rack':'a'}}",
      "{'nodeSelector':{'rack':'b'}}",
      "{'tolerations':[{'operator':'Exists'}]}",
      "{'priority':3}",
      "{'nodeName':'n1'}",
      "{'hostNetwork':true,'containers':[{'name':'c','ports':[{'containerPort':80}]}]}",
      "{'resourceClaims':[{'name':'x'}]}",
      "{'volumes':[{'name':'v','rbd':{'image':'i'}}]}",
      "{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{"
      "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name','operator':'In','values':["
      "'n1']}]}]}}}}"};
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t j = 0; j < specs.size(); ++j) {
      EXPECT_EQ(TemplateKey(PodOf("p", specs[i])) == TemplateKey(PodOf("q", specs[j])), i == j)
          << specs[i] << specs[j];
    }
  }
  for (const std::string& spec : specs) world.Ask(PodOf("p", spec));
  const int64_t asked = world.memo.asked();
  EXPECT_EQ(asked, static_cast<int64_t>(3 * specs.size()));
  world.Ask(PodOf("p", specs.back()));
  EXPECT_EQ(world.memo.asked(), asked);
  world.Ask(PodOf("p", specs.front()));
  EXPECT_EQ(world.memo.asked(), asked + 3);
}

// A pod elsewhere decides as well.
TEST(FilterMemoTest, WhatLooksAtOtherNodesIsNeverRemembered) {
  MemoWorld world;
  const SchedulingPod apart =
      PodOf("p",
            "{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
            "'topologyKey':'rack','labelSelector':{'matchLabels':{'app':'y'}}}]}}}");
  EXPECT_TRUE(world.Ask(apart).nodes->closed.empty());
  EXPECT_FALSE(world.Ask(apart).node_local);
  world.Bind(PodOf("other", "{}", "y"), "n2");
  EXPECT_EQ(world.Ask(apart).nodes->closed.size(), 3u);
  // The same holds for a pod that others keep away.
  EXPECT_TRUE(world.Ask(PodOf("q", "{}", "y")).node_local);
  world.Bind(apart, "n1");
  EXPECT_FALSE(world.Ask(PodOf("q", "{}", "y")).node_local);
  EXPECT_EQ(world.Ask(PodOf("q", "{}", "y")).nodes->closed.size(), 3u);
}

constexpr char kEbsDisk[] = "{'volumes':[{'name':'v','awsElasticBlockStore':{'volumeID':'v1'}}]}";
constexpr char kApartFromX[] =
    "{'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
    "'topologyKey':'kubernetes.io/hostname','labelSelector':{'matchLabels':{'app':'x'}}}]}}}";

// The number of disks that a node can attach is recorded in another object than the node.
TEST(FilterMemoTest, ADiskThatIsAttachedIsJudgedByTheLimitOfNow) {
  MemoWorld world;
  const SchedulingPod pod = PodOf("p", kEbsDisk);
  EXPECT_TRUE(world.Ask(pod).nodes->closed.empty());
  world.snapshot.SetAttachLimits({"n1", {{"ebs.csi.aws.com", 0}}});
  EXPECT_EQ(world.Ask(pod).nodes->closed, std::vector<int>{1});
  EXPECT_FALSE(world.Ask(pod).node_local);
  // The node alone decides about a disk that no limit counts.
  EXPECT_TRUE(world.Ask(PodOf("q", "{'volumes':[{'name':'v','rbd':{'image':'i'}}]}")).node_local);
}

// kube-scheduler skips anti-affinity for a pod that none of the bound pods keeps away, and with it
// the anti-affinity of nominated pods: jobs that differ only in labels get one answer.
TEST(FilterMemoTest, AntiAffinityOfNominatedPodsTellsNoJobsApart) {
  MemoWorld world;
  SchedulingPod vip = PodOf("vip", kApartFromX, "vip");
  vip.priority = 10;
  world.Nominate(vip, "n1");
  for (const char* app : {"y", "x"}) {
    const SchedulingPod pod = PodOf("p", kGpus, app);
    FilterMemo anew;
    EXPECT_EQ(world.Ask(pod).nodes->closed, world.Ask(pod, anew).nodes->closed) << app;
    EXPECT_TRUE(world.Ask(pod).nodes->closed.empty()) << app;
  }
  // Once the pod is bound its anti-affinity counts.
  world.Bind(vip, "n1");
  EXPECT_TRUE(world.Ask(PodOf("p", kGpus, "y")).nodes->closed.empty());
  EXPECT_EQ(world.Ask(PodOf("p", kGpus, "x")).nodes->closed, std::vector<int>{1});
}

std::string TextOf(const GangNodes& nodes) {
  std::string text = absl::StrCat(absl::StrJoin(nodes.closed, ","), "; ", nodes.left_out, ";");
  for (const auto& bound : nodes.bounds)
    absl::StrAppend(&text, " ", bound.node, ":", bound.workers);
  return text;
}

SchedulingPod RandomPod(const std::string& name, std::mt19937& random) {
  static const std::string specs[] = {
      "{}",
      kGpus,
      kEbsDisk,
      kApartFromX,
      "{'volumes':[{'name':'v','gcePersistentDisk':{'pdName':'g'}}]}",
      "{'volumes':[{'name':'v','rbd':{'image':'i','monitors':['m']}}]}",
      "{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]}",
      "{'hostNetwork':true,'containers':[{'name':'c','ports':[{'containerPort':80}]}]}",
      "{'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'kubernetes.io/hostname',"
      "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':{'app':'x'}}}]}"};
  SchedulingPod pod =
      PodOf(name, specs[random() % std::size(specs)], random() % 2 == 0 ? "x" : "y");
  pod.priority = static_cast<int>(random() % 3);
  if (random() % 4 == 0) pod.ns = "other";
  return pod;
}

// Makes one random change: pods come, go and are nominated; claims, limits and attachments change.
void Change(MemoWorld& world, std::mt19937& random) {
  const std::string node = absl::StrCat("n", random() % 3);
  const std::string name = absl::StrCat("there-", random() % 6);
  switch (random() % 6) {
    case 0:
      return world.Bind(RandomPod(name, random), node);
    case 1:
      if (world.bound.count(name) == 0) return;
      world.Unbind(name);
      world.bound.erase(name);
      return;
    case 2:
      return world.Nominate(RandomPod(absl::StrCat("awaited-", random()), random), node);
    case 3: {
      const auto most = static_cast<int64_t>(random() % 3);
      return world.snapshot.SetAttachLimits(
          {node, {{"ebs.csi.aws.com", most}, {"pd.csi.storage.gke.io", most}}});
    }
    case 4: {
      VolumeClaim claim;
      claim.ns = "default";
      claim.name = "data";
      claim.lost = random() % 2 == 0;
      return world.snapshot.SetClaim(std::move(claim));
    }
    default:
      world.AddNode(node, "{}", random() % 2 == 0 ? "{}" : "{'unschedulable':true}");
  }
}

TEST(FilterMemoTest, WhatIsRememberedIsWhatAFilterWouldSayNow) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    MemoWorld world;
    for (int step = 0; step < 30; ++step) {
      Change(world, random);
      const SchedulingPod pod = RandomPod("p", random);
      FilterMemo anew;
      ASSERT_EQ(TextOf(*world.Ask(pod).nodes), TextOf(*world.Ask(pod, anew).nodes))
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace muster::control
