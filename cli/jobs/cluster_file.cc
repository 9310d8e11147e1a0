#include "cli/jobs/cluster_file.h"

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/simulate/sim_cluster.h"
#include "operator/api/training_queue.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"
#include "operator/objects/caches.h"
#include "operator/objects/object_records.h"
#include "operator/objects/priority_class.h"
#include "operator/scheduler/scheduler.h"
#include "operator/web/placement_page.h"

namespace muster::cli {
namespace {

constexpr size_t kMostBytes = 16 << 20;

// Returns the Node as its kubelet would report it. The file's levels are the keys of its labels.
Json NodeObject(const control::NodeInventory& node, const control::LabelMap& labels,
                const std::vector<std::string>& levels) {
  Json object = kube::NewObject(kube::kNodes, {"", node.name});
  for (const auto& [key, value] : labels) {
    kube::SetLabel(object, std::string(key), std::string(value));
  }
  kube::SetLabel(object, "kubernetes.io/hostname", node.name);
  for (size_t level = 0; level < levels.size(); ++level) {
    kube::SetLabel(object, levels[level], node.domains[level]);
  }
  const control::Resources& has = node.allocatable;
  Json allocatable = {{kCpuResource, absl::StrCat(has.cpu_millis, "m")},
                      {kMemoryResource, absl::StrCat(has.memory_bytes)},
                      {"pods", absl::StrCat(has.slots)}};
  if (has.gpus > 0) allocatable[kGpuResource] = absl::StrCat(has.gpus);
  object["status"] = {{"allocatable", std::move(allocatable)},
                      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  return object;
}

// Fills a cache as a reflector does with its first list.
void Fill(kube::ReflectorSink& cache, std::vector<Json> objects) {
  cache.BeginList();
  for (Json& object : objects) cache.Listed(std::move(object));
  cache.EndList(1);
}

control::SchedulerOptions OptionsOf(const SimCluster& cluster) {
  control::SchedulerOptions options;
  options.topology_levels = cluster.inventory.levels;
  options.book = cluster.book;
  options.queues = cluster.schedule;
  return options;
}

std::unique_ptr<kube::MemoryApi> EmptyApi() {
  kube::MemoryApiOptions options;
  options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
  return kube::MemoryApi::Open(Clock::Real(), std::move(options)).value();
}

}  // namespace

struct ClusterFile::World {
  explicit World(const SimCluster& cluster)
      : scheduler(
            *api, Clock::Real(), jobs, pods, nodes, [](const std::string&) {}, OptionsOf(cluster)) {
    scheduler.FollowQueues(queues, priorities);
    std::vector<Json> objects;
    for (size_t i = 0; i < cluster.inventory.nodes.size(); ++i) {
      objects.push_back(
          NodeObject(cluster.inventory.nodes[i], cluster.labels[i], cluster.inventory.levels));
    }
    Fill(nodes, std::move(objects));
    Fill(queues, cluster.queue_objects);
    // No job is waiting, so this only loads the queues.
    scheduler.RunOnce();
  }

  const std::unique_ptr<kube::MemoryApi> api = EmptyApi();  // nothing is written to it
  control::JobCache jobs{control::ParseTrainingJob};
  control::PodCache pods{control::ParsePodRecord};
  control::NodeCache nodes{control::ParseNodeRecord};
  control::QueueCache queues{control::ParseTrainingQueue};
  control::PriorityCache priorities{control::ParsePriorityClass};
  control::Scheduler scheduler;
};

ClusterFile::ClusterFile(std::unique_ptr<World> world) : world_(std::move(world)) {}
ClusterFile::~ClusterFile() = default;

absl::StatusOr<std::unique_ptr<ClusterFile>> ClusterFile::Open(Files& files,
                                                               const std::string& file) {
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(files, file, kMostBytes));
  MUSTER_ASSIGN_OR_RETURN(const SimCluster cluster, ParseCluster(text, file));
  return std::unique_ptr<ClusterFile>(new ClusterFile(std::make_unique<World>(cluster)));
}

absl::StatusOr<Json> ClusterFile::WhatIf(const control::TrainingJob& job) const {
  return control::WhatIfPage(world_->scheduler, DumpJson(control::ToJson(job)));
}

Json ClusterFile::Tree(int depth) const { return control::TopologyPage(world_->scheduler, depth); }

}  // namespace muster::cli
