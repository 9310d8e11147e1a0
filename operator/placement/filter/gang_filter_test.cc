#include "operator/placement/filter/gang_filter.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/filter/filter_fixtures.h"
#include "operator/placement/filter/filter_memo.h"

namespace muster::control {
namespace {

// Few nodes in few domains, so that pods get in each other's way.
class GangFilterTest : public testing::Test {
 protected:
  static constexpr int kNodes = 7;

  int Pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string Key() { return Pick(2) == 0 ? "zone" : "kubernetes.io/hostname"; }
  std::string Selector() {
    return absl::StrCat("{'matchLabels':{'app':'", Pick(2) == 0 ? "x" : "y", "'}}");
  }
  std::string Term() {
    return absl::StrCat("{'topologyKey':'", Key(), "','labelSelector':", Selector(), "}");
  }
  // A random template with spread, affinity, anti-affinity, ports, a selector, or none of them.
  std::string Spec() {
    std::vector<std::string> parts = {
        "'containers':[{'name':'c','resources':{'requests':{'cpu':'2'}}}]"};
    if (Pick(2) == 0) {
      parts.push_back(
          absl::StrCat("'topologySpreadConstraints':[{'maxSkew':", 1 + Pick(2), ",'topologyKey':'",
                       Key(), "','whenUnsatisfiable':'DoNotSchedule','nodeTaintsPolicy':'",
                       Pick(2) == 0 ? "Honor" : "Ignore", "','labelSelector':", Selector(), "}]"));
    }
    std::vector<std::string> affinity;
    for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
      if (Pick(3) != 0) continue;
      affinity.push_back(absl::StrCat(
          "'", kind, "':{'requiredDuringSchedulingIgnoredDuringExecution':[", Term(), "]}"));
    }
    parts.push_back(absl::StrCat("'affinity':{", absl::StrJoin(affinity, ","), "}"));
    if (Pick(6) == 0) parts.push_back("'nodeSelector':{'fast':'yes'}");
    if (Pick(6) == 0) parts.push_back("'tolerations':[{'operator':'Exists'}]");
    return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
  }
  void Fill() {
    for (int i = 0; i < kNodes; ++i) {
      world_.AddNode(absl::StrCat("n", i),
                     absl::StrCat("{", Pick(8) == 0 ? "" : absl::StrCat("'zone':'z", Pick(3), "',"),
                                  "'fast':'", Pick(2) == 0 ? "yes" : "no", "'}"),
                     Pick(5) == 0 ? "{'taints':[{'key':'k','effect':'NoSchedule'}]}" : "{}");
    }
    for (int i = 0; i < 6; ++i) {
      const std::string name = absl::StrCat("old-", i);
      world_.Bind(PodOf(name, Spec(), Pick(2) == 0 ? "x" : "y"), absl::StrCat("n", Pick(kNodes)));
    }
    if (Pick(3) == 0) {
      const auto urgent = std::make_shared<const SchedulingPod>(PodOf("urgent", Spec(), "y"));
      world_.snapshot.AddNominated(urgent, "n0");
    }
  }
  std::vector<NodePointer> States() const {
    std::vector<NodePointer> states;
    for (int i = 0; i < kNodes; ++i) {
      states.push_back(world_.snapshot.ShareNode(absl::StrCat("n", i)));
    }
    return states;
  }
  static TopologyTree Tree(const std::vector<NodePointer>& states) {
    Inventory inventory;
    for (const NodePointer& state : states) {
      inventory.nodes.push_back({state->node->name, TreeAmounts(state->free, state->free_pods())});
    }
    return TopologyTree(inventory);
  }
  static std::string Text(const GangNodes& nodes) {
    std::string text = absl::StrCat("closed ", absl::StrJoin(nodes.closed, " "), " bounds");
    for (const auto& [node, workers] : nodes.bounds)
      absl::StrAppend(&text, " ", node, ":", workers);
    return absl::StrCat(text, " ", nodes.left_out);
  }

  std::mt19937 random_;
  FilterWorld world_;
};

// Reusing answers from pod to pod changes no answer.
TEST_F(GangFilterTest, SaysWhatAFilterOfItsOwnWouldSay) {
  int closed = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    random_.seed(seed);
    world_ = FilterWorld();
    Fill();
    GangFilter gang(world_.snapshot, States(), {});
    std::string spec = Spec();
    for (int worker = 0; worker < 8; ++worker) {
      if (Pick(12) == 0) spec = Spec();
      const auto pod = std::make_shared<const SchedulingPod>(
          PodOf(absl::StrCat("p-", worker), spec, Pick(4) == 0 ? "y" : "x"));
      const std::vector<NodePointer> states = States();
      const TopologyTree tree = Tree(states);
      FilterMemo memo;
      const GangNodes expected = *memo.NodesFor(*pod, world_.snapshot, tree, states).nodes;
      ASSERT_EQ(Text(gang.NodesFor(pod, tree)), Text(expected)) << seed << " " << worker << spec;
      closed += static_cast<int>(expected.closed.size());
      const int node = Pick(kNodes);
      gang.Place(pod, node);
      world_.Bind(*pod, absl::StrCat("n", node));
    }
  }
  EXPECT_GT(closed, 1000);
}

// The usual course: the members' nodes are found one by one, then checked together.
TEST_F(GangFilterTest, AGangThatIsPlacedOneByOneHoldsTogether) {
  int placed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    random_.seed(seed);
    world_ = FilterWorld();
    Fill();
    const std::string spec = Spec();
    GangFilter gang(world_.snapshot, States(), {});
    std::vector<PodPointer> members;
    std::vector<std::string> nodes;
    std::vector<NodePointer> states = States();
    TopologyTree tree = Tree(states);
    for (int worker = 0; worker < 5; ++worker) {
      const auto pod =
          std::make_shared<const SchedulingPod>(PodOf(absl::StrCat("p-", worker), spec));
      const GangNodes usable = gang.NodesFor(pod, tree);
      int node = 0;
      while (node < kNodes && std::count(usable.closed.begin(), usable.closed.end(), node) > 0) {
        ++node;
      }
      if (node == kNodes || tree.node(node).free.cpu_millis < 2000) break;
      gang.Place(pod, node);
      tree.Charge(node, TreeAmounts(pod->requests, 1));
      members.push_back(pod);
      nodes.push_back(absl::StrCat("n", node));
    }
    const auto refused = CheckGang(members, nodes, world_.snapshot);
    EXPECT_FALSE(refused) << seed << " " << spec << " " << Sentence(refused->refusal);
    placed += members.size() == 5 ? 1 : 0;
  }
  EXPECT_GT(placed, 15);
}

}  // namespace
}  // namespace muster::control
