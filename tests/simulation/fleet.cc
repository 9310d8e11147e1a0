#include "tests/simulation/fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/resource_type.h"
#include "tests/integration/pod_worker.h"

namespace muster::control {

void Fleet::RunOnce() {
  RunKubelet();
  EndStreams();
  for (auto& [uid, worker] : workers_) RunAgent(worker);
  RunTraining();
}

void Fleet::RunKubelet() {
  const auto pods = api_.List(kube::kPods, {});
  if (!pods.ok()) return;
  for (const Json& pod : pods->items) {
    const std::string uid = kube::UidOf(pod);
    const std::string phase = kube::StringAt(pod, {"status", "phase"});
    if (kube::IsTerminating(pod)) {
      const auto [end, first] = ending_.try_emplace(
          uid, now() + absl::Milliseconds(Number(0, absl::ToInt64Milliseconds(grace_))));
      if (now() < end->second) continue;
      if (const auto worker = workers_.find(uid); worker != workers_.end()) {
        Leave(worker->second);
        workers_.erase(worker);
      }
      kube::DeleteOptions at_once;
      at_once.grace_period_seconds = 0;
      at_once.preconditions.uid = uid;
      api_.Delete(kube::kPods, kube::KeyOf(pod), at_once).IgnoreError();
      continue;
    }
    if (kube::StringAt(pod, {"spec", "nodeName"}).empty()) continue;
    if (phase == "Succeeded" || phase == "Failed") continue;
    const auto worker = workers_.find(uid);
    if (worker == workers_.end()) {
      const auto [least, most] = start_up_;
      const int wait = Number(static_cast<int>(absl::ToInt64Milliseconds(least)),
                              static_cast<int>(absl::ToInt64Milliseconds(most)));
      const auto [start, first] = starting_.try_emplace(uid, now() + absl::Milliseconds(wait));
      if (now() >= start->second) StartPod(pod);
    } else if (worker->second.agent == nullptr) {
      EndPod(pod, "Failed", 137);
    } else if (worker->second.agent->phase == SimAgent::Phase::kExited) {
      Leave(worker->second);
      EndPod(pod, "Succeeded", 0);
    }
  }
}

void Fleet::StartPod(Json pod) {
  const std::string uid = kube::UidOf(pod);
  SimWorker& worker = workers_[uid];
  const PodWorker pod_worker = ReadPodWorker(pod);
  const v1alpha1::WorkerId& id = pod_worker.id;
  worker.job_uid = id.job_uid();
  worker.pod = kube::NameOf(pod);
  worker.agent = std::make_unique<SimAgent>(id.index(), id.incarnation(), uid, pod_worker.ranks);
  pod["status"]["phase"] = "Running";
  pod["status"]["startTime"] = kube::FormatTime(clock_.Wall());
  api_.UpdateStatus(kube::kPods, pod).status().IgnoreError();
}

void Fleet::EndPod(Json pod, const std::string& phase, int exit_code) {
  pod["status"]["phase"] = phase;
  pod["status"]["containerStatuses"] = {
      {{"name", "worker"}, {"state", {{"terminated", {{"exitCode", exit_code}}}}}}};
  api_.UpdateStatus(kube::kPods, pod).status().IgnoreError();
}

SimAgent* Fleet::Agent(const std::string& job_uid, int index) {
  SimAgent* newest = nullptr;
  for (auto& [uid, worker] : workers_) {
    SimAgent* agent = worker.agent.get();
    if (agent == nullptr || worker.job_uid != job_uid || agent->index != index) continue;
    if (newest == nullptr || agent->incarnation > newest->incarnation) newest = agent;
  }
  return newest;
}

void Fleet::KillAgent(const std::string& job_uid, int index) {
  const SimAgent* agent = Agent(job_uid, index);
  for (auto& [uid, worker] : workers_) {
    if (agent == nullptr || worker.agent.get() != agent) continue;
    Leave(worker);
    worker.agent.reset();
    return;
  }
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
