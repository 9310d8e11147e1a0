#include "tests/simulation/chaos/chaos_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/cost/price_table.h"
#include "operator/kube/api_call.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr char kInstanceType[] = "node.kubernetes.io/instance-type";
constexpr char kSpotLabel[] = "karpenter.sh/capacity-type";
constexpr const char* kQueues[] = {"research", "product"};

ReplicaWorld::Options OptionsOf(uint64_t seed) {
  ReplicaWorld::Options options;
  options.seed = seed;
  options.replicas = 1 + static_cast<int>(seed % 3);
  options.prices.currency = "EUR";
  options.prices.rows["small"] = {.per_hour = 36, .spot_per_hour = 9, .watts = 700};
  return options;
}

}  // namespace

ChaosWorld::ChaosWorld(uint64_t seed_in) : seed(seed_in), world(OptionsOf(seed_in)) {
  world.SetCallFaults(
      [this](auto& host, const kube::ApiCall& call) { return AtCall(host, call, true); },
      [this](auto& host, const kube::ApiCall& call) { return AtCall(host, call, false); });
  world.fleet->SetTokensPerReport(Number(1, 4) * 1000);
  world.fleet->SetSaveTime(absl::Milliseconds(Number(0, 2000)));
  // A few clusters are large, and most of their nodes stand idle.
  const int fixed = seed % 50 == 0 ? Number(1000, 3000) : Number(2, 5);
  for (int i = 0; i < fixed; ++i) AddNode(false, Number(1, 4));
  for (int i = Number(1, 4); i > 0; --i) AddNode(true, Number(1, 3));
  AddQueues();
  for (int i = Number(2, 4); i > 0; --i) AddJob();
}

void ChaosWorld::AddQueues() {
  queues_ = OneIn(2);
  if (!queues_) return;
  for (const char* name : kQueues) {
    Json queue = kube::NewObject(kube::kTrainingQueues, {"", name});
    queue["spec"] = {{"parent", "all"},
                     {"quotas", {{{"resource", "cpu"}, {"nominal", absl::StrCat(Number(4, 12))}}}}};
    world.memory->Create(kube::kTrainingQueues, queue).value();
  }
}

void ChaosWorld::AddNode(bool spot, int cpus) {
  Node& node = nodes.emplace_back();
  node.name = absl::StrCat(spot ? "spot-" : "node-", nodes.size());
  node.cpus = cpus;
  node.spot = spot;
  Json object = kube::NewObject(kube::kNodes, {"", node.name});
  kube::SetLabel(object, kInstanceType, "small");
  kube::SetLabel(object, kSpotLabel, spot ? "spot" : "on-demand");
  object = world.memory->Create(kube::kNodes, object).value();
  object["status"] = {
      {"allocatable", {{"cpu", absl::StrCat(cpus)}, {"memory", "640Gi"}, {"pods", "30"}}},
      {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  world.memory->UpdateStatus(kube::kNodes, object).value();
}

Json ChaosWorld::SpecOf(Job& job) {
  const int count = Number(1, 4);
  const Json worker = {{"name", "worker"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  Json spec = {
      {"workers", {{"count", count}, {"min", Number(1, count)}}},
      {"template", {{"spec", {{"containers", Json::array({worker})}}}}},
      {"failurePolicy",
       {{"maxFailures", 100},
        {"maxIdenticalFailures", 0},
        {"maxBackoff", "10s"},
        {"onRankFailure", OneIn(2) ? "Shrink" : "RestartRank"}}},
      {"trainer",
       {{"train", {{"steps", OneIn(3) ? Number(100, 600) : 100'000}, {"globalBatch", 32}}}}}};
  job.command = OneIn(6);
  job.grows = !job.command && OneIn(4);
  job.spot_bounds = OneIn(3);
  if (job.command) {
    spec["trainer"] = nullptr;
    spec["checkpoint"] = nullptr;
    spec["template"]["spec"]["containers"][0].merge_patch(
        {{"image", "example/train:1"}, {"command", {"train"}}});
  } else if (OneIn(3)) {
    spec["checkpoint"]["memory"] = {{"size", "1Mi"}, {"everySteps", 5}};
  }
  if (job.grows) {
    spec["workers"]["max"] = count + Number(1, 3);
    spec["elastic"] = {{"policy", "Grow"}, {"snooze", "20s"}};
  }
  if (job.spot_bounds && OneIn(4)) {
    spec["spot"] = {{"allow", false}};
  } else if (job.spot_bounds) {
    spec["spot"] = {{"maxFraction", 0.5}, {"onDemandFloor", Number(0, count)}};
  }
  if (queues_) spec["queue"] = job.queue = kQueues[Number(0, 1)];
  return spec;
}

void ChaosWorld::AddJob() {
  Job job;
  job.number = ++jobs_made_;
  job.name = absl::StrCat("job-", job.number);
  job.uid = world.CreateJob(job.name, SpecOf(job)).uid;
  jobs.push_back(std::move(job));
}

void ChaosWorld::Later(absl::Duration wait, std::function<void()> what) {
  later_.emplace(world.clock.Monotonic() + wait, std::move(what));
}

void ChaosWorld::Run(absl::Duration length) {
  const absl::Time end = world.clock.Monotonic() + length;
  while (world.clock.Monotonic() < end) {
    world.Tick();
    while (!later_.empty() && later_.begin()->first <= world.clock.Monotonic()) {
      const std::function<void()> what = std::move(later_.begin()->second);
      later_.erase(later_.begin());
      what();
    }
  }
}

void ChaosWorld::Note(absl::string_view what) {
  log_.push_back(absl::StrCat(
      absl::ToInt64Milliseconds(world.clock.Monotonic() - absl::FromUnixSeconds(1'700'000'000)),
      " ms ", what));
}

std::string ChaosWorld::Log() const { return absl::StrJoin(log_, "\n"); }

ChaosWorld::Node* ChaosWorld::AnyNode(bool spot_only) {
  std::vector<Node*> found;
  for (Node& node : nodes) {
    if (node.there && (node.spot || !spot_only)) found.push_back(&node);
  }
  if (found.empty()) return nullptr;
  // Prefers nodes that have pods, because in a large cluster most have none.
  std::vector<Node*> used;
  for (const Json& pod : world.Pods()) {
    const std::string name = kube::StringAt(pod, {"spec", "nodeName"});
    for (Node* node : found) {
      if (node->name == name) used.push_back(node);
    }
  }
  const std::vector<Node*>& from = used.empty() || OneIn(4) ? found : used;
  return from[Number(0, static_cast<int>(from.size()) - 1)];
}

ChaosWorld::Job* ChaosWorld::AnyJob() {
  return jobs.empty() ? nullptr : &jobs[Number(0, static_cast<int>(jobs.size()) - 1)];
}

ChaosWorld::Job* ChaosWorld::AnyTrainingJob() {
  std::vector<Job*> found;
  for (Job& job : jobs) {
    if (world.fleet->Training(job.uid) > 0) found.push_back(&job);
  }
  return found.empty() ? nullptr : found[Number(0, static_cast<int>(found.size()) - 1)];
}

int ChaosWorld::AnyWorker(const Job& job) {
  return Number(0, std::max(world.fleet->Training(job.uid) - 1, 0));
}

ReplicaWorld::Host* ChaosWorld::AnyHost() {
  ReplicaWorld::Host* leader = world.Leader();
  if (leader != nullptr && !OneIn(4)) return leader;
  return &world.hosts[Number(0, world.count() - 1)];
}

void ChaosWorld::StrikeNextWrite(int nth, bool before,
                                 std::function<void(ReplicaWorld::Host&)> what) {
  strike_ = Strike{nth, before, std::move(what)};
}

absl::Status ChaosWorld::AtCall(ReplicaWorld::Host& host, const kube::ApiCall& call, bool before) {
  if (call.type.plural == "leases") {
    const bool cut =
        before && host.number == lease_cut_host && world.clock.Monotonic() < lease_cut_until;
    return cut ? absl::UnavailableError("the lease is out of reach") : absl::OkStatus();
  }
  if (!strike_ || strike_->before != before || !kube::IsWrite(call.verb)) return absl::OkStatus();
  if (--strike_->left > 0) return absl::OkStatus();
  const Strike strike = *std::exchange(strike_, std::nullopt);
  strike.what(host);
  return absl::OkStatus();
}

}  // namespace muster::control
