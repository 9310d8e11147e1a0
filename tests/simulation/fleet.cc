#include "tests/simulation/fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/pod_worker.h"

namespace muster::control {
namespace {

KubeletPod Seen(Json object) {
  KubeletPod pod;
  pod.uid = kube::UidOf(object);
  pod.node = kube::StringAt(object, {"spec", "nodeName"});
  pod.terminating = kube::IsTerminating(object);
  const std::string phase = kube::StringAt(object, {"status", "phase"});
  pod.ended = phase == "Succeeded" || phase == "Failed";
  pod.object = std::move(object);
  return pod;
}

}  // namespace

void Fleet::RunOnce() {
  ++ticks_;
  RunKubelet();
  EndStreams();
  for (auto& [uid, worker] : workers_) RunAgent(worker);
  RunTraining();
}

// Brings the pods that the kubelets know up to date.
void Fleet::Follow() {
  if (watcher_ == nullptr) {
    const auto list = api_.List(kube::kPods, {});
    if (!list.ok()) return;
    pods_.clear();
    for (const Json& pod : list->items) pods_[kube::KeyOf(pod)] = Seen(pod);
    kube::WatchOptions options;
    options.resource_version = list->resource_version;
    auto watcher = api_.Watch(kube::kPods, options);
    if (!watcher.ok()) return;
    watcher_ = *std::move(watcher);
  }
  while (true) {
    auto event = watcher_->Next(absl::ZeroDuration());
    if (!event.ok()) return watcher_.reset();  // too much has happened: list again
    if (!*event) return;
    const kube::ObjectKey key = kube::KeyOf((*event)->object);
    if ((*event)->type == kube::WatchEvent::Type::kDeleted) {
      pods_.erase(key);
    } else if ((*event)->type != kube::WatchEvent::Type::kBookmark) {
      pods_[key] = Seen(std::move((*event)->object));
    }
  }
}

void Fleet::RunKubelet() {
  Follow();
  // Forgets the workers whose pods somebody removed without the kubelet.
  std::set<std::string> there;
  for (const auto& [key, pod] : pods_) there.insert(pod.uid);
  for (auto& [uid, worker] : workers_) {
    if (there.count(uid) == 0) Leave(worker);
  }
  std::erase_if(workers_, [&](const auto& entry) { return there.count(entry.first) == 0; });
  for (auto& [key, pod] : pods_) {
    const auto cut = cut_nodes_.find(pod.node);
    if (cut != cut_nodes_.end() && now() < cut->second) continue;
    if (lost_nodes_.count(pod.node) == 0) RunPod(pod);
  }
}

void Fleet::RunPod(KubeletPod& pod) {
  const std::string& uid = pod.uid;
  if (pod.terminating) {
    const auto [end, first] = ending_.try_emplace(
        uid, now() + absl::Milliseconds(Number(0, absl::ToInt64Milliseconds(grace_))));
    if (now() >= end->second) RemovePod(pod);
    return;
  }
  if (pod.node.empty() || pod.ended) return;
  const auto worker = workers_.find(uid);
  if (worker == workers_.end()) {
    const auto [start, first] = starting_.try_emplace(
        uid, now() + start_time_.value_or(absl::Milliseconds(Number(50, 500))));
    if (now() >= start->second) StartPod(pod);
  } else if (worker->second.agent == nullptr) {
    EndPod(pod, "Failed", 137);
  } else if (worker->second.agent->phase == SimAgent::Phase::kExited) {
    Leave(worker->second);
    EndPod(pod, "Succeeded", 0);
  }
}

void Fleet::RemovePod(const KubeletPod& pod) {
  if (const auto worker = workers_.find(pod.uid); worker != workers_.end()) {
    Leave(worker->second);
    workers_.erase(worker);
  }
  kube::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  at_once.preconditions.uid = pod.uid;
  api_.Delete(kube::kPods, kube::KeyOf(pod.object), at_once).IgnoreError();
}

void Fleet::StartPod(KubeletPod& pod) {
  SimWorker& worker = workers_[pod.uid];
  const PodWorker pod_worker = ReadPodWorker(pod.object);
  const v1alpha1::WorkerId& id = pod_worker.id;
  worker.job_uid = id.job_uid();
  worker.pod = kube::NameOf(pod.object);
  worker.job = worker.pod.substr(0, worker.pod.rfind('-', worker.pod.rfind('-') - 1));
  worker.node = pod.node;
  worker.agent =
      std::make_unique<SimAgent>(id.index(), id.incarnation(), pod.uid, pod_worker.ranks);
  Json running = pod.object;
  running["status"]["phase"] = "Running";
  running["status"]["startTime"] = kube::FormatTime(clock_.Wall());
  api_.UpdateStatus(kube::kPods, running).status().IgnoreError();
}

void Fleet::EndPod(const KubeletPod& pod, const std::string& phase, int exit_code) {
  Json ended = pod.object;
  ended["status"]["phase"] = phase;
  ended["status"]["containerStatuses"] = {
      {{"name", "worker"}, {"state", {{"terminated", {{"exitCode", exit_code}}}}}}};
  api_.UpdateStatus(kube::kPods, ended).status().IgnoreError();
}

SimWorker* Fleet::Find(const std::string& job_uid, int index) {
  SimWorker* newest = nullptr;
  for (auto& [uid, worker] : workers_) {
    const SimAgent* agent = worker.agent.get();
    if (agent == nullptr || worker.job_uid != job_uid || agent->index != index) continue;
    if (newest == nullptr || agent->incarnation > newest->agent->incarnation) newest = &worker;
  }
  return newest;
}

SimAgent* Fleet::Agent(const std::string& job_uid, int index) {
  SimWorker* worker = Find(job_uid, index);
  return worker == nullptr ? nullptr : worker->agent.get();
}

int Fleet::Training(const std::string& job_uid) const {
  std::map<int64_t, int> by_round;
  int most = 0;
  for (const auto& [uid, worker] : workers_) {
    if (worker.agent == nullptr || worker.job_uid != job_uid) continue;
    if (worker.agent->phase != SimAgent::Phase::kRunning) continue;
    most = std::max(most, ++by_round[worker.agent->round.round]);
  }
  return most;
}

}  // namespace muster::control
