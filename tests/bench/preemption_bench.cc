// Measures FindVictims() on 2,000 nodes of 8 GPUs in leaves of 32, full with 700 jobs of a queue
// that borrows: a newcomer within its nominal quota takes back what it needs, anywhere or within
// one leaf.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "operator/placement/inventory.h"
#include "operator/placement/placement.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/room/victims.h"

namespace muster::control {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr int kNodes = 2000;
constexpr int kVictims = 700;

Inventory Cluster() {
  Inventory inventory{{"leaf"}, {}};
  for (int i = 0; i < kNodes; ++i) {
    NodeInventory node;
    node.name = absl::StrCat("node-", i);
    node.allocatable = node.free = {8, 192'000, int64_t{2} << 40, 110};
    node.domains = {absl::StrCat("leaf-", i / 32)};
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

QueueSpec Queue(const char* name, int64_t gpus) {
  QueueSpec queue;
  queue.name = name;
  queue.parent = "cohort";
  queue.quotas = {{kGpu, gpus, {}, {}}};
  return queue;
}

QueuedJob Job(const std::string& uid, const char* queue, int workers, int gpus) {
  QueuedJob job;
  job.uid = job.name = uid;
  job.queue = queue;
  job.request.per_worker = {gpus, 8000, int64_t{64} << 30, 1};
  job.request.min = job.request.max = workers;
  job.quota_per_worker = {{kGpu, gpus}};
  return job;
}

void BM_FindVictims(benchmark::State& state) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(10);
  std::mt19937 random(3);
  TopologyTree tree(Cluster());
  QueueBook book;
  book.SetQueues(now, {Queue("owner", 8 * kNodes), Queue("borrower", 0)});
  for (int i = 0; i < kVictims; ++i) {
    QueuedJob job = Job(absl::StrCat("victim-", i), "borrower", 1 + static_cast<int>(random() % 6),
                        4 << (random() % 2));
    // Jobs that no longer fit are skipped; the last ones fill the gaps.
    const auto answer = Place(tree, job.request);
    if (!std::holds_alternative<Placement>(answer)) continue;
    job.nodes = std::get<Placement>(answer).nodes;
    job.checkpointed = now - absl::Seconds(random() % 3600);
    for (const std::string& node : job.nodes) {
      tree.Charge(*tree.FindNode(node), job.request.per_worker);
    }
    book.Upsert(now, job);
  }
  // Nodes that are still empty are made unschedulable, so that the newcomer needs victims.
  for (int i = 0; i < kNodes; ++i) {
    if (tree.node(i).free.gpus == 8) tree.SetSchedulable(i, false);
  }
  QueuedJob newcomer = Job("newcomer", "owner", static_cast<int>(state.range(0)), 8);
  if (state.range(1) != 0) newcomer.request.required_level = "leaf";
  book.Upsert(now, newcomer);
  JobEntry& entry = *book.state().jobs.at("newcomer");
  for (auto _ : state) {
    const auto plan = FindVictims(now, tree, book.state(), entry, {});
    if (!plan) {
      state.SkipWithError("no victims");
      break;
    }
    state.counters["victims"] = static_cast<double>(plan->victims.size());
    state.counters["over_bound"] = plan->cost / plan->cost_bound;
  }
  state.counters["candidates"] = static_cast<double>(book.jobs() - 1);
}
BENCHMARK(BM_FindVictims)
    ->ArgNames({"workers", "in_a_leaf"})
    ->Args({1, 0})
    ->Args({16, 1})
    ->Args({64, 0})
    ->Args({256, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::control

BENCHMARK_MAIN();
