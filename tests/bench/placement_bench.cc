// Measures Place() on trees of 500, 5,000 and 20,000 nodes of 8 GPUs: three levels (spines of 16
// leaves of 32 nodes), 40 % of the GPUs taken at random. Each line is the distribution over single
// calls.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {
namespace {

constexpr int kNodesPerLeaf = 32;
constexpr int kLeavesPerSpine = 16;

Inventory Cluster(int nodes, bool busy, int products = 1) {
  std::mt19937 random(7);
  Inventory inventory{{"zone", "spine", "leaf"}, {}};
  for (int i = 0; i < nodes; ++i) {
    const int leaf = i / kNodesPerLeaf;
    NodeInventory node;
    node.name = absl::StrCat("node-", i);
    node.allocatable = {8, 192'000, int64_t{2} << 40, 110};
    node.free = node.allocatable;
    if (busy && random() % 10 < 4) node.free.gpus = random() % 8;
    if (products > 1) node.gpu_product = absl::StrCat("product-", leaf % products);
    node.spot = i % 2 == 0;
    if (node.spot) node.spot_pool = absl::StrCat("pool-", i % 5);
    node.domains = {"z", absl::StrCat("spine-", leaf / kLeavesPerSpine),
                    absl::StrCat("leaf-", leaf)};
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

GangRequest Gang(int workers) {
  GangRequest request;
  request.per_worker = {1, 8000, int64_t{64} << 30, 1};
  request.min = request.max = workers;
  return request;
}

double Percentile(std::vector<double>& samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(fraction * (samples.size() - 1))];
}

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

// Measures wall and CPU time: the tail of the wall time includes other load on the machine, that of
// the CPU time does not.
template <typename F>
void Measure(benchmark::State& state, F call) {
  std::vector<double> wall;
  std::vector<double> cpu;
  for (auto _ : state) {
    const double cpu_start = CpuMilliseconds();
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    cpu.push_back(CpuMilliseconds() - cpu_start);
    wall.push_back(took.count());
  }
  state.counters["p50_ms"] = Percentile(wall, 0.5);
  state.counters["p99_ms"] = Percentile(wall, 0.99);
  state.counters["p99_cpu_ms"] = Percentile(cpu, 0.99);
}

void PlaceGang(benchmark::State& state, const GangRequest& request, bool fits, int products = 1) {
  const TopologyTree tree(Cluster(static_cast<int>(state.range(0)), true, products));
  Measure(state, [&] {
    const auto answer = Place(tree, request);
    if (std::holds_alternative<Placement>(answer) != fits) state.SkipWithError("wrong answer");
  });
}

// Places 512 pods of one GPU wherever they are closest.
void Place512(benchmark::State& state) { PlaceGang(state, Gang(512), true); }

// Each leaf has one of three GPU products; one spine has too few of any, so the gang is mixed.
void Place512Products(benchmark::State& state) { PlaceGang(state, Gang(512), true, 3); }

// Places tensor-parallel groups of 8 on one host, pipelines of 64 in one leaf, all in one spine.
void Place512Nested(benchmark::State& state) {
  GangRequest request = Gang(512);
  request.required_level = "spine";
  request.slices = {{64, "leaf"}, {8, "host"}};
  PlaceGang(state, request, true);
}

// The same two with half of the workers on spot nodes at most, which every other node is.
void Place512Spot(benchmark::State& state) {
  GangRequest request = Gang(512);
  request.spot = {true, true, 0.5, 0};
  PlaceGang(state, request, true);
}
void Place512SpotNested(benchmark::State& state) {
  GangRequest request = Gang(512);
  request.required_level = "spine";
  request.slices = {{64, "leaf"}, {8, "host"}};
  request.spot = {true, true, 0.5, 0};
  PlaceGang(state, request, true);
}

// Requests more than a leaf has, which is refused.
void Refuse512(benchmark::State& state) {
  GangRequest request = Gang(512);
  request.required_level = "leaf";
  PlaceGang(state, request, false);
}

void BuildTree(benchmark::State& state) {
  const Inventory inventory = Cluster(static_cast<int>(state.range(0)), true);
  Measure(state, [&] { benchmark::DoNotOptimize(TopologyTree(inventory)); });
}

// Charges or releases one pod; its time must not grow with the number of nodes.
void ChargeOnePod(benchmark::State& state) {
  TopologyTree tree(Cluster(static_cast<int>(state.range(0)), false));
  int64_t sign = 1;
  for (auto _ : state) {
    tree.Charge(123, {sign, sign * 8000, sign << 36, sign});
    sign = -sign;
  }
}

#define MUSTER_SIZES Arg(500)->Arg(5'000)->Arg(20'000)
BENCHMARK(Place512)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(Place512Products)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(Place512Nested)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(Place512Spot)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(Place512SpotNested)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(Refuse512)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(BuildTree)->MUSTER_SIZES->Unit(benchmark::kMillisecond);
BENCHMARK(ChargeOnePod)->MUSTER_SIZES;

}  // namespace
}  // namespace muster::control

BENCHMARK_MAIN();
