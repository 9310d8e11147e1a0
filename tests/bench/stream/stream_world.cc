#include "tests/bench/stream/stream_world.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/memory/object_rules.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr kube::ResourceType kQueues{"muster.dev",    "v1alpha1", "trainingqueues",
                                     "TrainingQueue", false,      true};

Json AmountsOf(const Resources& resources) {
  Json amounts = {{"cpu", absl::StrCat(resources.cpu_millis, "m")}};
  if (resources.memory_bytes > 0) amounts["memory"] = absl::StrCat(resources.memory_bytes);
  if (resources.gpus > 0) amounts["nvidia.com/gpu"] = absl::StrCat(resources.gpus);
  return amounts;
}

std::string QuotaAmount(const std::string& resource, int64_t amount) {
  return absl::StrCat(amount, resource == "cpu" ? "m" : "");
}

}  // namespace

std::string StreamWorld::LabelOf(const std::string& level) {
  return level == "host" ? level : absl::StrCat("bench.muster.dev/", level);
}

absl::StatusOr<std::unique_ptr<StreamWorld>> StreamWorld::Start(
    kube::Api* remote, const Inventory& inventory, const std::vector<QueueSpec>& queues) {
  auto world = std::unique_ptr<StreamWorld>(new StreamWorld);
  world->api_ = remote;
  if (remote == nullptr) {
    kube::MemoryApiOptions options;
    const bool known = std::any_of(options.resources.begin(), options.resources.end(),
                                   [](const auto& one) { return one.type == kQueues; });
    if (!known) options.resources.push_back({kQueues, nullptr});
    options.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
    // A watcher that falls behind this history has to list again, which would distort the
    // benchmark.
    options.history_limit = size_t{1} << 18;
    MUSTER_ASSIGN_OR_RETURN(world->memory_,
                            kube::MemoryApi::Open(Clock::Real(), std::move(options)));
    world->api_ = world->memory_.get();
  }
  MUSTER_RETURN_IF_ERROR(world->MakeNodes(inventory));
  MUSTER_RETURN_IF_ERROR(world->MakeQueues(queues));
  char folder[] = "/tmp/muster-stream-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return absl::InternalError("no folder in /tmp");
  world->folder_ = folder;
  OperatorOptions options;
  options.coordinator_addresses = {absl::StrCat("unix:", folder, "/c.sock")};
  options.reconcile_threads = 8;
  for (const std::string& level : inventory.levels) {
    options.topology_levels.push_back(LabelOf(level));
  }
  MUSTER_ASSIGN_OR_RETURN(world->app_,
                          OperatorApp::Create(*world->api_, Clock::Real(), std::move(options)));
  MUSTER_RETURN_IF_ERROR(world->app_->Start());
  return world;
}

StreamWorld::~StreamWorld() {
  Stop();
  if (!folder_.empty()) RemoveAll(FileSystem(), folder_).IgnoreError();
}

void StreamWorld::Stop() { app_.reset(); }

absl::Status StreamWorld::MakeNodes(const Inventory& inventory) {
  for (const NodeInventory& from : inventory.nodes) {
    Json node = kube::NewObject(kube::kNodes, {"", from.name});
    for (size_t level = 0; level < from.domains.size(); ++level) {
      node["metadata"]["labels"][LabelOf(inventory.levels[level])] = from.domains[level];
    }
    MUSTER_ASSIGN_OR_RETURN(node, api_->Create(kube::kNodes, node));
    // A real server taints every new node; a controller normally removes the taint once it is
    // ready.
    if (kube::Find(node, {"spec", "taints"}) != nullptr) {
      node["spec"].erase("taints");
      MUSTER_ASSIGN_OR_RETURN(node, api_->Update(kube::kNodes, node));
    }
    Json amounts = AmountsOf(from.allocatable);
    amounts["pods"] = "110";
    const Json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}};
    node["status"] = {
        {"allocatable", amounts}, {"capacity", amounts}, {"conditions", Json::array({ready})}};
    MUSTER_RETURN_IF_ERROR(api_->UpdateStatus(kube::kNodes, node).status());
  }
  return absl::OkStatus();
}

absl::Status StreamWorld::MakeQueues(const std::vector<QueueSpec>& queues) {
  for (const QueueSpec& from : queues) {
    Json queue = kube::NewObject(kQueues, {"", from.name});
    queue["spec"] = {{"weight", from.weight}};
    if (!from.parent.empty()) queue["spec"]["parent"] = from.parent;
    for (const Quota& quota : from.quotas) {
      Json one = {{"resource", quota.resource},
                  {"nominal", QuotaAmount(quota.resource, quota.nominal)}};
      if (quota.borrow_limit) {
        one["borrowLimit"] = QuotaAmount(quota.resource, *quota.borrow_limit);
      }
      queue["spec"]["quotas"].push_back(std::move(one));
    }
    MUSTER_RETURN_IF_ERROR(api_->Create(kQueues, queue).status());
  }
  return absl::OkStatus();
}

Json StreamWorld::JobObject(const QueuedJob& job) {
  const GangRequest& request = job.request;
  Json object = kube::NewObject(kube::kTrainingJobs, {kNamespace, job.name});
  Json container = {{"name", "worker"},
                    {"image", "none"},
                    {"command", Json::array({"train"})},
                    {"resources", {{"requests", AmountsOf(request.per_worker)}}}};
  object["spec"] = {
      {"workers", {{"count", request.max}}},
      {"template", {{"spec", {{"containers", Json::array({std::move(container)})}}}}}};
  if (request.per_worker.gpus > 0) object["spec"]["workers"]["gpus"] = request.per_worker.gpus;
  if (!job.queue.empty()) object["spec"]["queue"] = job.queue;
  Json topology = Json::object();
  if (!request.required_level.empty()) topology["require"] = LabelOf(request.required_level);
  if (!request.preferred_level.empty()) topology["prefer"] = LabelOf(request.preferred_level);
  for (const Slice& slice : request.slices) {
    topology["slices"].push_back({{"workers", slice.size}, {"level", LabelOf(slice.level)}});
  }
  if (!topology.empty()) object["spec"]["topology"] = std::move(topology);
  return object;
}

}  // namespace muster::control
