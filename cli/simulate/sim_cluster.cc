#include "cli/simulate/sim_cluster.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/field_error.h"
#include "base/status_macros.h"
#include "base/yaml/yaml_adapter.h"
#include "cli/simulate/json_reader.h"
#include "operator/api/codec.h"
#include "operator/api/defaults.h"
#include "operator/api/training_queue.h"
#include "operator/api/validation.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/queue/book/queue_from_spec.h"

namespace muster::cli {
namespace {

using control::Inventory;
using control::NodeInventory;

constexpr int64_t kMostBackfillDepth = 1'000'000;

control::LabelMap ReadLabels(JsonReader& reader) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : reader.Object("labels").items()) {
    if (!value.is_string()) {
      reader.Fail("labels", absl::StrCat("the value of ", key, " must be text: put it in quotes"));
      break;
    }
    labels[key] = value.get<std::string>();
  }
  return labels;
}

// Reads nodes of one type, and fills the domains of each level with them in order.
void ReadPool(const Json& json, const std::string& path, SimCluster& cluster,
              absl::Status& status) {
  Inventory& inventory = cluster.inventory;
  JsonReader reader(json, path, status);
  const std::string name = reader.Text("name", "node");
  const int64_t nodes = reader.Integer("nodes", 1, 1, kMostSimNodes);
  NodeInventory node;
  node.allocatable.gpus = reader.Integer("gpus", 0, 0, kMostGpusOfNode);
  node.allocatable.cpu_millis = reader.Quantity("cpu", kCpuResource, 64'000);
  node.allocatable.memory_bytes = reader.Quantity("memory", kMemoryResource, int64_t{1} << 40);
  node.allocatable.slots = reader.Integer("pods", 110, 1, kMostPodsOfNode);
  node.free = node.allocatable;
  const control::LabelMap labels = ReadLabels(reader);
  node.spot = control::IsSpotNode(labels);
  if (node.spot) node.spot_pool = control::SpotPoolOf(labels);
  const Json& per_domain = reader.List("perDomain");
  if (per_domain.size() != inventory.levels.size()) {
    reader.Fail("perDomain", "must have one number for each of the file's levels");
  }
  std::vector<int64_t> sizes;
  for (const Json& size : per_domain) {
    if (!size.is_number_integer() || size.get<int64_t>() < 1) {
      reader.Fail("perDomain", "must be whole numbers of nodes, broad to narrow");
      break;
    }
    sizes.push_back(size.get<int64_t>());
  }
  reader.Finish();
  for (int64_t i = 0; i < nodes && status.ok(); ++i) {
    node.name = absl::StrCat(name, "-", i);
    node.domains.clear();
    for (size_t level = 0; level < sizes.size(); ++level) {
      node.domains.push_back(absl::StrCat(name, "-", inventory.levels[level], i / sizes[level]));
    }
    inventory.nodes.push_back(node);
    cluster.labels.push_back(labels);
  }
}

absl::Status ReadQueues(const Json& queues, SimCluster& cluster) {
  for (size_t i = 0; i < queues.size(); ++i) {
    Json object = queues[i];
    const std::string path = absl::StrCat("queues[", i, "]");
    if (!object.is_object() || !object.contains("name") || !object["name"].is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ".name: is missing"));
    }
    const Json name = object["name"];
    object.erase("name");
    control::TrainingQueue queue;
    cluster.queue_objects.push_back({{"metadata", {{"name", name}}}, {"spec", std::move(object)}});
    FieldErrors errors = control::DecodeTrainingQueue(cluster.queue_objects.back(),
                                                      control::UnknownFields::kReport, queue);
    if (errors.empty()) {
      v1alpha1::TrainingQueueSpec complete = queue.spec;
      control::DefaultFromSchema(complete);
      errors = control::Validate(complete, "spec", {});
    }
    if (!errors.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", errors[0].path, ": ", errors[0].message));
    }
    MUSTER_ASSIGN_OR_RETURN(control::QueueSpec spec,
                            control::QueueFromSpec(queue.name, queue.spec));
    cluster.queues.push_back(std::move(spec));
  }
  return absl::OkStatus();
}

void ReadOptions(const Json& json, SimCluster& cluster, absl::Status& status) {
  JsonReader reader(json, "options", status);
  cluster.book.half_life = reader.Duration("halfLife", cluster.book.half_life);
  cluster.book.aging = reader.Duration("aging", cluster.book.aging);
  if (cluster.book.aging == absl::ZeroDuration()) cluster.book.aging = absl::InfiniteDuration();
  cluster.stop = reader.Duration("stop", cluster.stop);
  cluster.restart = reader.Duration("restart", cluster.restart);
  cluster.schedule.stop_grace = cluster.stop;
  cluster.schedule.restart_cost = cluster.restart;
  cluster.schedule.backfill_depth = static_cast<int>(
      reader.Integer("backfillDepth", cluster.schedule.backfill_depth, 0, kMostBackfillDepth));
  cluster.schedule.defragment = reader.Switch("defragment", false);
  reader.Finish();
}

absl::Status ReadCluster(const Json& json, SimCluster& cluster) {
  absl::Status status;
  JsonReader reader(json, "", status);
  for (const Json& level : reader.List("levels")) {
    if (!level.is_string()) reader.Fail("levels", "must be names, broad to narrow");
    if (level.is_string()) cluster.inventory.levels.push_back(level.get<std::string>());
  }
  const Json& pools = reader.List("pools");
  if (pools.empty()) reader.Fail("pools", "is missing: a cluster needs nodes");
  for (size_t i = 0; i < pools.size(); ++i) {
    ReadPool(pools[i], absl::StrCat("pools[", i, "]"), cluster, status);
  }
  ReadOptions(reader.Object("options"), cluster, status);
  const Json& queues = reader.List("queues");
  reader.Finish();
  MUSTER_RETURN_IF_ERROR(status);
  return ReadQueues(queues, cluster);
}

}  // namespace

control::Amounts CapacityOf(const Inventory& inventory) {
  control::Amounts capacity;
  for (const NodeInventory& node : inventory.nodes) {
    capacity[kGpuResource] += node.allocatable.gpus;
    capacity[kCpuResource] += node.allocatable.cpu_millis;
    capacity[kMemoryResource] += node.allocatable.memory_bytes;
  }
  return capacity;
}

absl::StatusOr<SimCluster> ParseCluster(absl::string_view yaml, absl::string_view file) {
  const YamlDocument document = ParseYaml(yaml);
  if (!document.errors.empty()) {
    const YamlError& error = document.errors[0];
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.line, ": ", error.message));
  }
  SimCluster cluster;
  const absl::Status status = ReadCluster(document.json, cluster);
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
  }
  cluster.capacity = CapacityOf(cluster.inventory);
  return cluster;
}

}  // namespace muster::cli
