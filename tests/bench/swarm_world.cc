#include "tests/bench/swarm_world.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster {
namespace {

constexpr int kPodsPerNode = 250;
constexpr int kKubeletThreads = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<SwarmWorld>> SwarmWorld::Start(int replicas,
                                                              agent::AgentSwarm::Options options) {
  auto world = std::unique_ptr<SwarmWorld>(new SwarmWorld);
  kube::MemoryApiOptions memory;
  memory.random = [engine = std::mt19937_64(7)]() mutable { return engine(); };
  MUSTER_ASSIGN_OR_RETURN(world->memory_, kube::MemoryApi::Open(Clock::Real(), std::move(memory)));
  world->api_ = std::make_unique<control::FakeTokenApi>(*world->memory_, Clock::Real());
  // Replicas must know each other's addresses before they start.
  std::vector<std::string> addresses;
  for (int i = 0; i < replicas; ++i) {
    MUSTER_ASSIGN_OR_RETURN(ReservedPort port, ReservedPort::Reserve());
    addresses.push_back(port.address());
    world->ports_.push_back(std::move(port));
  }
  for (const std::string& address : addresses) {
    control::OperatorOptions app;
    app.coordinator_addresses = {address};
    app.pod_coordinator = absl::StrJoin(addresses, ",");
    app.identity = address;
    app.election.emplace();
    app.election->lease = {"muster-system", "muster-operator"};
    app.election->retry_period = absl::Milliseconds(500);
    app.lease_clock = &Clock::Boot();
    MUSTER_ASSIGN_OR_RETURN(world->apps_.emplace_back(),
                            control::OperatorApp::Create(*world->api_, Clock::Real(), app));
    MUSTER_RETURN_IF_ERROR(world->apps_.back()->Start());
  }
  world->swarm_ = std::make_unique<agent::AgentSwarm>(options, world->files_);
  world->kubelet_ = std::make_unique<agent::SwarmKubelet>(*world->api_, "default", world->files_,
                                                          kKubeletThreads);
  return world;
}

absl::StatusOr<std::string> SwarmWorld::CreateJob(const std::string& name, int workers) {
  MUSTER_RETURN_IF_ERROR(agent::SwarmKubelet::MakeNodes(
      *api_, (workers + kPodsPerNode - 1) / kPodsPerNode, kPodsPerNode));
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", name});
  job["spec"] = {{"workers", {{"count", workers}}},
                 {"trainer",
                  {{"model", {{"preset", "gpt2-nano"}}},
                   {"data", {{"uri", "/data/text"}}},
                   {"train", {{"steps", 1'000'000}, {"globalBatch", 8192}, {"microBatch", 1}}}}},
                 {"failurePolicy", {{"maxFailures", 100}}}};
  MUSTER_ASSIGN_OR_RETURN(const Json made, memory_->Create(kube::kTrainingJobs, job));
  return kube::UidOf(made);
}

absl::Status SwarmWorld::RunUntil(const std::function<bool()>& done, absl::Duration patience,
                                  const std::string& what) {
  const absl::Time deadline = Clock::Real().Monotonic() + patience;
  while (!done()) {
    if (Clock::Real().Monotonic() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "timed out waiting for: ", what, "; ", swarm_->welcomed(), " of ", swarm_->size(),
          " agents are attached; ", std::string(kubelet_->status().message())));
    }
    for (agent::SwarmKubelet::Started& pod : kubelet_->Take()) {
      swarm_->Add(pod.worker, pod.ranks, std::move(pod.coordinator));
    }
    swarm_->RunOnce(absl::Milliseconds(20));
  }
  return absl::OkStatus();
}

bool SwarmWorld::IsActive(const std::string& job_uid) const {
  const auto round = swarm_->rounds().find(job_uid);
  return round != swarm_->rounds().end() && round->second.joined == round->second.members;
}

control::OperatorApp* SwarmWorld::leader() const {
  for (const auto& app : apps_) {
    if (app->IsLeading()) return app.get();
  }
  return nullptr;
}

void SwarmWorld::StopLeader() {
  std::erase_if(apps_, [leader = leader()](const auto& app) { return app.get() == leader; });
}

}  // namespace muster
