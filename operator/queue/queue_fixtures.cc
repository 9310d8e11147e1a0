#include "operator/queue/queue_fixtures.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/queue_book.h"

namespace muster::control::fixtures {

Inventory Racks(int racks, int nodes, int gpus) {
  Inventory inventory;
  inventory.levels = {"rack"};
  for (int rack = 0; rack < racks; ++rack) {
    for (int node = 0; node < nodes; ++node) {
      NodeInventory one;
      one.name = absl::StrCat("r", rack, "-n", node);
      one.allocatable = one.free = {gpus, 96'000, int64_t{1} << 40, 110};
      one.domains = {absl::StrCat("r", rack)};
      inventory.nodes.push_back(std::move(one));
    }
  }
  return inventory;
}

QueueSpec Queue(const std::string& name, const std::string& parent, int64_t nominal_gpus) {
  QueueSpec queue;
  queue.name = name;
  queue.parent = parent;
  queue.quotas = {{kGpu, nominal_gpus, {}, {}}};
  return queue;
}

QueuedJob Job(const std::string& uid, const std::string& queue, int workers, int gpus,
              double runtime, double created) {
  QueuedJob job;
  job.uid = job.name = uid;
  job.ns = "team";
  job.queue = queue;
  job.created = At(created);
  job.request.job = uid;
  job.request.per_worker = {gpus, 1'000, int64_t{1} << 30, 1};
  job.request.min = job.request.max = workers;
  job.quota_per_worker = {{kGpu, gpus}};
  if (runtime > 0) job.runtime = absl::Seconds(runtime);
  return job;
}

World::World(const Inventory& inventory, const std::vector<QueueSpec>& queues,
             const BookOptions& book_options)
    : tree(inventory), book(book_options) {
  int64_t gpus = 0;
  for (const NodeInventory& node : inventory.nodes) gpus += node.allocatable.gpus;
  book.SetCapacity({{kGpu, gpus}});
  book.SetQueues(now, queues);
}

void World::Free(const QueuedJob& job, int from) {
  for (int i = from; i < job.workers(); ++i) {
    tree.Charge(*tree.FindNode(job.nodes[i]), -job.request.per_worker);
  }
}

void World::Finish(const std::string& uid) {
  Free(*book.Find(uid), 0);
  book.Remove(now, uid);
}

void World::LetLeaversGo() {
  std::vector<QueuedJob> leavers;
  for (const auto& [uid, entry] : book.state().jobs) {
    if (entry->job.running() && entry->job.leaving > 0) leavers.push_back(entry->job);
  }
  for (QueuedJob& job : leavers) {
    const int stay = job.workers() - job.leaving;
    Free(job, stay);
    job.nodes.resize(stay);
    job.leaving = 0;
    book.Upsert(now, job);
  }
}

std::vector<Decision> World::Cycle() {
  last = Schedule(now, tree, book, options);
  return last;
}

bool World::Runs(const std::string& uid) const { return Workers(uid) > 0; }

int World::Workers(const std::string& uid) const {
  const QueuedJob* job = book.Find(uid);
  return job == nullptr ? 0 : job->workers();
}

Decision World::Of(const std::string& uid) const {
  for (const Decision& decision : last) {
    if (decision.job == uid) return decision;
  }
  return {};
}

}  // namespace muster::control::fixtures
