// Measures the upkeep of a cluster snapshot and the check of one pod against every node.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/cluster/tree_amounts.h"
#include "operator/placement/filter/filter_memo.h"
#include "operator/placement/inventory.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

constexpr int kPodsOfANode = 8;

std::shared_ptr<SchedulingPod> Pod(int index, const std::string& node) {
  auto pod = std::make_shared<SchedulingPod>();
  pod->ns = "default";
  pod->name = pod->uid = "pod-" + std::to_string(index);
  pod->node = node;
  pod->labels = {{"app", "app-" + std::to_string(index % 50)}};
  pod->holds.cpu_millis = pod->requests.cpu_millis = 1000;
  pod->holds.SetScalar("nvidia.com/gpu", index % 2);
  return pod;
}

std::string NodeName(int index) { return "node-" + std::to_string(index); }

// A cluster of racks of 32 nodes with 8 pods on each node.
ClusterSnapshot Cluster(int nodes) {
  ClusterSnapshot snapshot;
  for (int i = 0; i < nodes; ++i) {
    auto node = std::make_shared<SchedulingNode>();
    node->name = NodeName(i);
    node->ready = true;
    node->labels = {{"kubernetes.io/hostname", node->name}, {"rack", std::to_string(i / 32)}};
    node->taints = {{"nvidia.com/gpu", "", "NoSchedule"}};
    node->allocatable.cpu_millis = 96'000;
    node->allocatable.SetScalar("nvidia.com/gpu", 8);
    node->allowed_pods = 110;
    snapshot.SetNode(std::move(node));
    for (int j = 0; j < kPodsOfANode; ++j) {
      snapshot.AddPod(Pod(i * kPodsOfANode + j, NodeName(i)));
    }
  }
  return snapshot;
}

SchedulingPod Worker() {
  SchedulingPod pod = *Pod(-1, "");
  pod.requests.SetScalar("nvidia.com/gpu", 4);
  auto wants = std::make_shared<PodConstraints>();
  wants->tolerations.push_back({"nvidia.com/gpu", "Exists", "", ""});
  pod.constraints = std::move(wants);
  return pod;
}

SchedulingPod ApartByRack() {
  SchedulingPod pod = Worker();
  auto wants = std::make_shared<PodConstraints>(*pod.constraints);
  PodAffinityTerm term;
  term.namespaces = {"default"};
  term.selector.absent = false;
  term.selector.requirements.push_back({"app", SelectorOperator::kIn, {"none"}});
  term.topology_key = "rack";
  wants->anti_affinity.push_back(std::move(term));
  pod.constraints = std::move(wants);
  return pod;
}

// Adds a ninth pod to a node and removes it again.
void BM_ComeAndGo(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  ClusterSnapshot snapshot = Cluster(nodes);
  int next = 0;
  for (auto _ : state) {
    const int at = next++ % (nodes * kPodsOfANode);
    const std::string node = NodeName((at * 7) % nodes);
    const PodPointer pod = Pod(at, node);
    snapshot.AddPod(pod, node);
    snapshot.RemovePod(pod, node);
  }
}

void BM_Copy(benchmark::State& state) {
  const ClusterSnapshot snapshot = Cluster(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    ClusterSnapshot copy = snapshot;
    benchmark::DoNotOptimize(copy);
  }
}

// A cluster with its topology tree: the arguments of FilterMemo::NodesFor().
struct Asked {
  explicit Asked(int nodes) : snapshot(Cluster(nodes)) {
    for (int i = 0; i < nodes; ++i) {
      const NodePointer state = snapshot.ShareNode(NodeName(i));
      inventory.nodes.push_back({NodeName(i),
                                 TreeAmounts(state->free, state->free_pods()),
                                 true,
                                 {std::to_string(i / 32)}});
    }
    inventory.levels = {"rack"};
    tree = std::make_unique<TopologyTree>(inventory);
    for (const TopologyTree::Domain& node : tree->level(tree->node_level())) {
      states.push_back(snapshot.ShareNode(node.name));
    }
  }
  ClusterSnapshot snapshot;
  Inventory inventory;
  std::unique_ptr<TopologyTree> tree;
  std::vector<NodePointer> states;
};

void BM_NodesFor(benchmark::State& state) {
  const Asked cluster(static_cast<int>(state.range(0)));
  const SchedulingPod pod = Worker();
  for (auto _ : state) {
    FilterMemo memo;
    benchmark::DoNotOptimize(memo.NodesFor(pod, cluster.snapshot, *cluster.tree, cluster.states));
  }
}

// Repeats the query after one node has changed.
void BM_NodesForAgain(benchmark::State& state) {
  Asked cluster(static_cast<int>(state.range(0)));
  const SchedulingPod pod = Worker();
  FilterMemo memo;
  for (auto _ : state) {
    cluster.snapshot.AddPod(Pod(0, NodeName(7)), NodeName(7));
    cluster.states[*cluster.tree->FindNode(NodeName(7))] = cluster.snapshot.ShareNode(NodeName(7));
    benchmark::DoNotOptimize(memo.NodesFor(pod, cluster.snapshot, *cluster.tree, cluster.states));
  }
}

void BM_NodesForAntiAffinity(benchmark::State& state) {
  const Asked cluster(static_cast<int>(state.range(0)));
  const SchedulingPod pod = ApartByRack();
  FilterMemo memo;
  for (auto _ : state) {
    benchmark::DoNotOptimize(memo.NodesFor(pod, cluster.snapshot, *cluster.tree, cluster.states));
  }
}

BENCHMARK(BM_ComeAndGo)->Arg(500)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Copy)->Arg(500)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_NodesFor)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_NodesForAgain)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond)->Iterations(50);
BENCHMARK(BM_NodesForAntiAffinity)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::control

BENCHMARK_MAIN();
