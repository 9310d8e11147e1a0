// What it costs to keep a snapshot of a cluster and to ask of every node whether a pod fits.
#include <cstdint>
#include <memory>
#include <string>

#include "benchmark/benchmark.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/gang_inventory.h"

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

// Racks of 32 nodes, 8 pods on each.
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
      snapshot.SetPod(Pod(i * kPodsOfANode + j, NodeName(i)));
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

void BM_SetPod(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  ClusterSnapshot snapshot = Cluster(nodes);
  int next = 0;
  for (auto _ : state) {
    const int at = next++ % (nodes * kPodsOfANode);
    snapshot.SetPod(Pod(at, NodeName((at * 7) % nodes)));
  }
}

void BM_Copy(benchmark::State& state) {
  const ClusterSnapshot snapshot = Cluster(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    ClusterSnapshot copy = snapshot;
    benchmark::DoNotOptimize(copy);
  }
}

void BM_GangInventory(benchmark::State& state) {
  const ClusterSnapshot snapshot = Cluster(static_cast<int>(state.range(0)));
  const SchedulingPod pod = Worker();
  for (auto _ : state) benchmark::DoNotOptimize(GangInventory(pod, snapshot));
}

void BM_GangInventoryAntiAffinity(benchmark::State& state) {
  const ClusterSnapshot snapshot = Cluster(static_cast<int>(state.range(0)));
  const SchedulingPod pod = ApartByRack();
  for (auto _ : state) benchmark::DoNotOptimize(GangInventory(pod, snapshot));
}

BENCHMARK(BM_SetPod)->Arg(500)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Copy)->Arg(500)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_GangInventory)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GangInventoryAntiAffinity)->Arg(500)->Arg(5000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::control

BENCHMARK_MAIN();
