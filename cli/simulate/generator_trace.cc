// Reads the YAML of Kueue's performance generator as a trace.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/yaml/yaml_adapter.h"
#include "cli/simulate/json_reader.h"
#include "cli/simulate/sim_trace.h"

namespace muster::cli {
namespace {

constexpr size_t kMostJobs = 2'000'000;
constexpr int64_t kMostPods = 100'000;
constexpr int64_t kMostMilliseconds = 1'000'000'000'000;
constexpr int64_t kHighestPriority = 2'000'000'000;

class Generator {
 public:
  absl::StatusOr<SimTrace> Run(const Json& json);

 private:
  void ReadTopology(const Json& json);
  void AddNodes(const std::vector<int64_t>& counts, size_t level, std::vector<std::string>& path,
                const control::NodeInventory& node);
  void ReadCohort(const Json& json, const std::string& path);
  void ReadQueueSet(const Json& json, const std::string& path, const std::string& cohort);
  void AddQueue(const Json& json, const std::string& path, const std::string& cohort,
                const std::string& name);
  void ReadWorkloadSet(const Json& json, const std::string& path, const std::string& queue);
  void ReadWorkload(const Json& json, const std::string& path, SimJob& job);

  absl::Status status_;
  SimTrace trace_;
  SimCluster cluster_;
  std::map<std::string, std::string> level_of_label_;
};

void Generator::AddNodes(const std::vector<int64_t>& counts, size_t level,
                         std::vector<std::string>& path, const control::NodeInventory& node) {
  for (int64_t i = 0; i < counts[level] && status_.ok(); ++i) {
    const std::string name = path.empty() ? absl::StrCat(i) : absl::StrCat(path.back(), "-", i);
    if (level + 1 == counts.size()) {
      cluster_.inventory.nodes.push_back(node);
      cluster_.inventory.nodes.back().name = absl::StrCat("node-", name);
      cluster_.inventory.nodes.back().domains = path;
      continue;
    }
    path.push_back(name);
    AddNodes(counts, level + 1, path, node);
    path.pop_back();
  }
}

void Generator::ReadTopology(const Json& json) {
  JsonReader reader(json, "topology", status_);
  reader.Text("name", "");
  const Json& levels = reader.List("levels");
  reader.Finish();
  control::NodeInventory node;
  std::vector<int64_t> counts;
  int64_t nodes = 1;
  for (size_t i = 0; i < levels.size(); ++i) {
    JsonReader level(levels[i], absl::StrCat("topology.levels[", i, "]"), status_);
    const std::string name = level.Text("name", absl::StrCat("level-", i));
    counts.push_back(level.Integer("count", 1, 1, kMostSimNodes));
    nodes *= counts.back();
    if (nodes > kMostSimNodes) {
      return level.Fail("count", absl::StrCat("makes more than ", kMostSimNodes, " nodes"));
    }
    const bool last = i + 1 == levels.size();
    level_of_label_[level.Text("nodeLabel", name)] = last ? "host" : name;
    if (!last) cluster_.inventory.levels.push_back(name);
    JsonReader capacity(level.Object("capacity"), level.PathOf("capacity"), status_);
    node.allocatable.cpu_millis = capacity.Quantity("cpu", kCpuResource, 0);
    node.allocatable.memory_bytes = capacity.Quantity("memory", kMemoryResource, 0);
    node.allocatable.gpus = capacity.Integer(kGpuResource, 0, 0, kMostGpusOfNode);
    node.allocatable.slots = capacity.Integer("pods", 110, 1, kMostPodsOfNode);
    capacity.Finish();
    level.Finish();
  }
  node.free = node.allocatable;
  std::vector<std::string> path;
  if (!counts.empty() && status_.ok()) AddNodes(counts, 0, path, node);
}

void Generator::ReadCohort(const Json& json, const std::string& path) {
  JsonReader reader(json, path, status_);
  const std::string name = reader.Text("className", "cohort");
  const int64_t count = reader.Integer("count", 1, 0, kMostJobs);
  const Json& sets = reader.List("queuesSets");
  reader.Finish();
  for (int64_t i = 0; i < count && status_.ok(); ++i) {
    for (size_t k = 0; k < sets.size(); ++k) {
      ReadQueueSet(sets[k], absl::StrCat(path, ".queuesSets[", k, "]"), absl::StrCat(name, "-", i));
    }
  }
}

void Generator::ReadQueueSet(const Json& json, const std::string& path, const std::string& cohort) {
  JsonReader reader(json, path, status_);
  const std::string name = reader.Text("className", "queue");
  const int64_t count = reader.Integer("count", 1, 0, kMostJobs);
  for (int64_t i = 0; i < count && status_.ok(); ++i) {
    AddQueue(json, path, cohort, absl::StrCat(cohort, "-", name, "-", i));
  }
}

void Generator::AddQueue(const Json& json, const std::string& path, const std::string& cohort,
                         const std::string& name) {
  JsonReader reader(json, path, status_);
  reader.Text("className", "");
  reader.Integer("count", 1, 0, kMostJobs);
  control::QueueSpec queue;
  queue.name = name;
  queue.parent = cohort;
  control::Quota quota;
  quota.resource = kCpuResource;
  quota.nominal = reader.Quantity("nominalQuota", kCpuResource, 0);
  if (reader.Has("borrowingLimit")) {
    quota.borrow_limit = reader.Quantity("borrowingLimit", kCpuResource, 0);
  }
  queue.quotas = {quota};
  const std::string reclaim =
      reader.Word("reclaimWithinCohort", "Never", {"Any", "LowerPriority", "Never"});
  queue.reclaim = reclaim == "Any"             ? control::ReclaimFrom::kAny
                  : reclaim == "LowerPriority" ? control::ReclaimFrom::kLowerPriority
                                               : control::ReclaimFrom::kNever;
  const bool within =
      reader.Word("withinClusterQueue", "Never", {"LowerPriority", "Never"}) == "LowerPriority";
  queue.preempt_within_queue =
      within ? control::PreemptWithinQueue::kLowerPriority : control::PreemptWithinQueue::kNever;
  cluster_.queues.push_back(queue);
  const Json& sets = reader.List("workloadsSets");
  reader.Finish();
  for (size_t i = 0; i < sets.size() && status_.ok(); ++i) {
    ReadWorkloadSet(sets[i], absl::StrCat(path, ".workloadsSets[", i, "]"), name);
  }
}

void Generator::ReadWorkloadSet(const Json& json, const std::string& path,
                                const std::string& queue) {
  JsonReader reader(json, path, status_);
  const int64_t count = reader.Integer("count", 1, 0, kMostJobs);
  const absl::Duration interval =
      absl::Milliseconds(reader.Integer("creationIntervalMs", 0, 0, kMostMilliseconds));
  const Json& workloads = reader.List("workloads");
  reader.Finish();
  for (size_t k = 0; k < workloads.size(); ++k) {
    SimJob job;
    job.job.queue = queue;
    ReadWorkload(workloads[k], absl::StrCat(path, ".workloads[", k, "]"), job);
    for (int64_t i = 0; i < count && status_.ok(); ++i) {
      if (trace_.jobs.size() >= kMostJobs) return reader.Fail("count", "makes too many jobs");
      job.job.created = absl::UnixEpoch() + interval * i;
      job.job.name = job.job.request.job = absl::StrCat(queue, "-", job.job_class, "-", i);
      job.job.uid = absl::StrCat(job.job.name, "#", absl::Dec(trace_.jobs.size(), absl::kZeroPad7));
      trace_.jobs.push_back(job);
    }
  }
}

void Generator::ReadWorkload(const Json& json, const std::string& path, SimJob& job) {
  JsonReader reader(json, path, status_);
  job.job_class = reader.Text("className", "workload");
  job.duration = absl::Milliseconds(reader.Integer("runtimeMs", 0, 0, kMostMilliseconds));
  job.job.runtime = job.duration;
  job.job.priority = reader.Integer("priority", 0, -kHighestPriority, kHighestPriority);
  control::GangRequest& request = job.job.request;
  request.per_worker.cpu_millis = reader.Quantity("request", kCpuResource, 0);
  request.per_worker.slots = 1;
  const int64_t pods = reader.Integer("podCount", 1, 1, kMostPods);
  request.min = request.max = static_cast<int>(pods);
  job.job.ns = "default";
  job.job.quota_per_worker = {{kCpuResource, request.per_worker.cpu_millis}};
  const std::string constraint =
      reader.Word("tasConstraint", "", {"balanced", "preferred", "required"});
  const std::string label = reader.Text("tasLevel", "");
  const int64_t slice = reader.Integer("sliceSize", 0, 0, kMostPods);
  reader.Finish();
  if (constraint.empty()) return;
  const auto level = level_of_label_.find(label);
  if (level == level_of_label_.end()) {
    return reader.Fail("tasLevel", "is the nodeLabel of none of topology.levels");
  }
  if (constraint == "required") request.required_level = level->second;
  if (constraint == "preferred") request.preferred_level = level->second;
  if (slice > 0 && slice <= pods) {
    request.slices.push_back({static_cast<int>(slice), level->second});
  }
}

absl::StatusOr<SimTrace> Generator::Run(const Json& json) {
  JsonReader reader(json, "", status_);
  if (reader.Has("topology")) ReadTopology(reader.Object("topology"));
  reader.Object("resourceFlavor");
  const Json& cohorts = reader.List("cohorts");
  for (size_t i = 0; i < cohorts.size(); ++i) {
    ReadCohort(cohorts[i], absl::StrCat("cohorts[", i, "]"));
  }
  reader.Finish();
  MUSTER_RETURN_IF_ERROR(status_);
  std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                   [](const SimJob& a, const SimJob& b) { return a.job.created < b.job.created; });
  // The jobs run for seconds, so saving for a minute would be unrealistic.
  cluster_.stop = cluster_.restart = absl::ZeroDuration();
  cluster_.schedule.stop_grace = absl::ZeroDuration();
  cluster_.capacity = CapacityOf(cluster_.inventory);
  trace_.cluster = std::move(cluster_);
  return std::move(trace_);
}

}  // namespace

absl::StatusOr<SimTrace> ParseGenerator(absl::string_view yaml, absl::string_view file) {
  const YamlDocument document = ParseYaml(yaml);
  if (!document.errors.empty()) {
    const YamlError& error = document.errors[0];
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.line, ": ", error.message));
  }
  absl::StatusOr<SimTrace> trace = Generator().Run(document.json);
  if (!trace.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", trace.status().message()));
  }
  if (trace->jobs.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": has no jobs"));
  return trace;
}

}  // namespace muster::cli
