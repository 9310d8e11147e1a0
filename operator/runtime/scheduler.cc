#include "operator/runtime/scheduler.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/api/defaults.h"
#include "operator/core/spot.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

bool Matches(const std::map<std::string, std::string>& selector,
             const std::map<std::string, std::string>& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    const auto it = labels.find(wanted.first);
    return it != labels.end() && it->second == wanted.second;
  });
}

Resources Largest(const Resources& a, const Resources& b) {
  return {std::max(a.gpus, b.gpus), std::max(a.cpu_millis, b.cpu_millis),
          std::max(a.memory_bytes, b.memory_bytes), std::max(a.slots, b.slots)};
}

}  // namespace

Scheduler::Scheduler(kube::Api& api, const JobCache& jobs, const PodCache& pods,
                     const NodeCache& nodes, std::function<void(const std::string&)> on_verdict)
    : api_(api), jobs_(jobs), pods_(pods), nodes_(nodes), on_verdict_(std::move(on_verdict)) {}

std::map<std::string, Scheduler::Gang> Scheduler::CollectGangs() const {
  std::map<std::string, Gang> gangs;
  for (const PodCache::Object& pod : pods_.List()) {
    if (pod->job.empty() || pod->scheduler_name != kSchedulerName) continue;
    if (pod->ended() || pod->view.deleting) continue;
    Gang& gang = gangs[pod->view.owner_uid];
    if (gang.job == nullptr) gang.job = jobs_.Get({pod->key.name_space, pod->job});
    if (!pod->view.node.empty() || assumed_.count(pod->view.uid) > 0) {
      ++gang.bound;
    } else {
      gang.unbound.push_back(pod);
    }
  }
  std::erase_if(gangs, [](const auto& entry) {
    const Gang& gang = entry.second;
    return gang.job == nullptr || gang.job->uid != entry.first || gang.unbound.empty();
  });
  for (auto& [uid, gang] : gangs) {
    std::sort(gang.unbound.begin(), gang.unbound.end(),
              [](const auto& a, const auto& b) { return a->view.index < b->view.index; });
  }
  return gangs;
}

void Scheduler::Charge(const std::string& name, const Resources& requests) {
  const auto place = free_at_.find(name);
  if (place == free_at_.end()) return;
  Resources& free = free_.nodes[place->second].free;
  free.gpus = std::max<int64_t>(free.gpus - requests.gpus, 0);
  free.cpu_millis = std::max<int64_t>(free.cpu_millis - requests.cpu_millis, 0);
  free.memory_bytes = std::max<int64_t>(free.memory_bytes - requests.memory_bytes, 0);
  free.slots = std::max<int64_t>(free.slots - requests.slots, 0);
}

// Once per cycle; what is bound in the cycle is charged as it is bound.
void Scheduler::TakeInventory() {
  free_.nodes.clear();
  free_at_.clear();
  node_records_ = nodes_.List();
  for (const NodeCache::Object& node : node_records_) {
    free_at_[node->name] = free_.nodes.size();
    free_.nodes.push_back({node->name, node->allocatable, node->schedulable, {}});
  }
  // Whoever made them, and terminating ones too: they hold what they have until they are gone.
  for (const PodCache::Object& pod : pods_.List()) {
    if (!pod->view.node.empty() && !pod->ended()) Charge(pod->view.node, pod->requests);
  }
  for (const auto& [uid, assumed] : assumed_) Charge(assumed.node, assumed.requests);
}

Inventory Scheduler::InventoryFor(const Gang& gang) const {
  Inventory inventory = free_;
  const PodRecord& pod = *gang.unbound.front();
  for (size_t i = 0; i < inventory.nodes.size(); ++i) {
    NodeInventory& node = inventory.nodes[i];
    node.schedulable = node.schedulable && Matches(pod.node_selector, node_records_[i]->labels) &&
                       Tolerates(pod.tolerations, node_records_[i]->taints) &&
                       FindNotice(node_records_[i]->taints) == nullptr;
  }
  return inventory;
}

int Scheduler::BindAll(const Gang& gang, const std::vector<std::string>& nodes) {
  int bound = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PodRecord& pod = *gang.unbound[i];
    kube::Binding binding;
    binding.pod = pod.key;
    binding.node = nodes[i];
    binding.preconditions.uid = pod.view.uid;
    const absl::Status status = api_.Bind(binding);
    if (!status.ok()) {
      // The pod changed or went: the cache will say, and the next cycle decides again.
      MUSTER_LOG(WARN, "bind failed", {"pod", pod.key.name}, {"node", nodes[i]}, {"error", status});
      continue;
    }
    assumed_[pod.view.uid] = {nodes[i], pod.key, pod.requests};
    Charge(nodes[i], pod.requests);
    MUSTER_LOG(INFO, "pod bound", {"pod", pod.key.name}, {"node", nodes[i]});
    ++bound;
  }
  return bound;
}

void Scheduler::Refuse(const Gang& gang, const std::string& sentence) {
  for (const PodCache::Object& pod : gang.unbound) {
    if (pod->unscheduled_message == sentence) continue;
    absl::StatusOr<Json> json = api_.Get(kube::kPods, pod->key);
    if (!json.ok() || kube::UidOf(*json) != pod->view.uid) continue;
    Json& status = (*json)["status"];
    Json& conditions = status["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    Json kept = Json::array();
    for (const Json& condition : conditions) {
      if (kube::StringAt(condition, {"type"}) != "PodScheduled") kept.push_back(condition);
    }
    kept.push_back({{"type", "PodScheduled"},
                    {"status", "False"},
                    {"reason", "Unschedulable"},
                    {"message", sentence}});
    conditions = std::move(kept);
    const absl::StatusOr<Json> stored = api_.UpdateStatus(kube::kPods, *json);
    if (!stored.ok() && !absl::IsAborted(stored.status())) {
      MUSTER_LOG(WARN, "pod condition not written", {"pod", pod->key.name},
                 {"error", stored.status()});
    }
  }
}

void Scheduler::SetVerdict(const TrainingJob& job, PlacementView verdict) {
  {
    MutexLock lock(mu_);
    PlacementView& known = verdicts_[job.uid];
    if (known.reason == verdict.reason && known.sentence == verdict.sentence) return;
    known = std::move(verdict);
  }
  on_verdict_(kube::ToString({job.ns, job.name}));
}

int Scheduler::Schedule(const Gang& gang) {
  v1alpha1::TrainingJobSpec spec = gang.job->spec;
  Default(spec);
  const int unbound = static_cast<int>(gang.unbound.size());
  // A gang starts as a whole: its pods are made one by one, so wait until all are there.
  if (gang.bound == 0 && unbound < spec.workers().count()) return 0;
  GangRequest request;
  request.job = kube::ToString({gang.job->ns, gang.job->name});
  for (const auto& pod : gang.unbound) {
    request.per_worker = Largest(request.per_worker, pod->requests);
  }
  request.max = unbound;
  request.min = std::clamp(spec.workers().min() - gang.bound, 1, unbound);
  const auto answer = Place(InventoryFor(gang), request);
  if (const auto* no = std::get_if<Unplaceable>(&answer)) {
    const auto reason = UnplaceableReasonName(no->reason);
    Refuse(gang, no->sentence);
    SetVerdict(*gang.job, {std::string(reason.data(), reason.size()), no->sentence});
    return 0;
  }
  const int bound = BindAll(gang, std::get<Placement>(answer).nodes);
  SetVerdict(*gang.job, {});
  return bound;
}

void Scheduler::ForgetSettled() {
  std::erase_if(assumed_, [&](const auto& entry) {
    const PodCache::Object pod = pods_.Get(entry.second.key);
    return pod == nullptr || pod->view.uid != entry.first || !pod->view.node.empty();
  });
  MutexLock lock(mu_);
  std::map<std::string, PlacementView> kept;
  for (const JobCache::Object& job : jobs_.List()) {
    const auto it = verdicts_.find(job->uid);
    if (it != verdicts_.end()) kept.insert(*it);
  }
  verdicts_ = std::move(kept);
}

int Scheduler::RunOnce() {
  ForgetSettled();
  int bound = 0;
  const std::map<std::string, Gang> gangs = CollectGangs();
  if (!gangs.empty()) TakeInventory();
  for (const auto& [uid, gang] : gangs) bound += Schedule(gang);
  MutexLock lock(mu_);
  binds_ += bound;
  return bound;
}

PlacementView Scheduler::Verdict(const std::string& job_uid) const {
  MutexLock lock(mu_);
  const auto it = verdicts_.find(job_uid);
  return it == verdicts_.end() ? PlacementView{} : it->second;
}

int64_t Scheduler::binds() const {
  MutexLock lock(mu_);
  return binds_;
}

}  // namespace muster::control
