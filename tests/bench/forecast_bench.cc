// Measures the queries about queues, on 5,000 nodes of 8 GPUs in leaves of 32 nodes and spines of
// 16 leaves, full with 1,250 jobs of two queues: when the last of 1,000 waiting jobs starts, and
// which jobs would make room for another. The operator computes these without holding its lock;
// taking the input under the lock is measured separately.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "operator/placement/inventory.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/forecast/what_if.h"
#include "operator/queue/schedule.h"

namespace muster::control {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";

Inventory Cluster(int nodes) {
  Inventory inventory{{"spine", "leaf"}, {}};
  for (int i = 0; i < nodes; ++i) {
    NodeInventory node;
    node.name = absl::StrCat("node-", i);
    node.allocatable = node.free = {8, 192'000, int64_t{2} << 40, 110};
    node.domains = {absl::StrCat("spine-", i / 512), absl::StrCat("leaf-", i / 32)};
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

QueueSpec Queue(const char* name, int64_t gpus) {
  QueueSpec queue;
  queue.name = name;
  queue.parent = "all";
  queue.quotas = {{kGpu, gpus, {}, {}}};
  return queue;
}

QueuedJob Job(const std::string& uid, const char* queue, int workers, absl::Duration runtime) {
  QueuedJob job;
  job.uid = job.name = uid;
  job.ns = "bench";
  job.queue = queue;
  job.request.per_worker = {8, 8000, int64_t{64} << 30, 1};
  job.request.min = job.request.max = workers;
  job.quota_per_worker = {{kGpu, 8}};
  job.runtime = runtime;
  return job;
}

// A full cluster and `waiting` jobs that have just been refused.
struct World {
  World(int nodes, int waiting) : tree(Cluster(nodes)) {
    std::mt19937 random(7);
    book.SetCapacity({{kGpu, 8 * nodes}});
    book.SetQueues(now, {Queue("a", 4 * nodes), Queue("b", 4 * nodes)});
    for (int i = 0; i < nodes / 4; ++i) {
      book.Upsert(now, Job(absl::StrCat("running-", i), i % 4 == 0 ? "a" : "b", 4,
                           absl::Minutes(10 + random() % 600)));
    }
    Schedule(now, tree, book, options);
    now += absl::Minutes(5);
    for (int i = 0; i < waiting; ++i) {
      QueuedJob job = Job(absl::StrCat("waiting-", i), "b", 1 + static_cast<int>(random() % 16),
                          absl::Minutes(10 + random() % 600));
      job.created = now + absl::Milliseconds(i);
      if (i % 2 == 0) job.request.required_level = "leaf";
      book.Upsert(now, job);
    }
    now += absl::Seconds(waiting / 1000 + 1);
    Schedule(now, tree, book, options);
  }

  absl::Time now = absl::UnixEpoch() + absl::Hours(10);
  TopologyTree tree;
  QueueBook book;
  ScheduleOptions options;
};

void BM_TakeInput(benchmark::State& state) {
  World world(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(Capture(world.now, world.tree, world.book, world.options, {}));
  }
}

// Argument `ahead` is the number of jobs before this one in its queue.
void BM_Forecast(benchmark::State& state) {
  World world(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const DecisionInput input = Capture(world.now, world.tree, world.book, world.options, {});
  const std::string job = world.book.WaitingInOrder("b")[state.range(2)]->uid;
  for (auto _ : state) {
    const StartForecast forecast = ForecastStart(input, job);
    state.SetLabel(Sentence(forecast, world.now));
  }
}

void BM_WhatIf(benchmark::State& state) {
  World world(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const DecisionInput input = Capture(world.now, world.tree, world.book, world.options, {});
  QueuedJob owner = Job("owner", "a", static_cast<int>(state.range(2)), absl::Hours(1));
  owner.created = world.now;
  for (auto _ : state) {
    const WhatIfAnswer answer = AskWhatIf(input, owner);
    state.counters["victims"] = static_cast<double>(answer.victims.size());
    state.SetLabel(Sentence(answer.start, world.now));
  }
}

BENCHMARK(BM_TakeInput)
    ->ArgNames({"nodes", "waiting"})
    ->Args({5000, 1000})
    ->Args({5000, 15000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Forecast)
    ->ArgNames({"nodes", "waiting", "ahead"})
    ->Args({500, 1000, 0})
    ->Args({5000, 1000, 0})
    ->Args({5000, 1000, 100})
    ->Args({5000, 1000, 999})
    ->Args({5000, 15000, 14999})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WhatIf)
    ->ArgNames({"nodes", "waiting", "workers"})
    ->Args({500, 1000, 16})
    ->Args({5000, 1000, 16})
    ->Args({5000, 1000, 512})
    ->Args({5000, 15000, 512})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace muster::control

BENCHMARK_MAIN();
