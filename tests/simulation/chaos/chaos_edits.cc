// The part of ChaosWorld that edits objects as users, kubelets and node controllers do, and that
// makes everything well again.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/core/state/view.h"
#include "operator/kube/resource_type.h"
#include "tests/simulation/chaos/chaos_world.h"

namespace muster::control {

void ChaosWorld::EditNode(const std::string& name, const std::function<void(Json&)>& edit) {
  absl::StatusOr<Json> node = world.memory->Get(kube::kNodes, {"", name});
  if (!node.ok()) return;
  if (!(*node)["metadata"]["labels"].is_object()) (*node)["metadata"]["labels"] = Json::object();
  edit(*node);
  world.memory->Update(kube::kNodes, *node).value();
}

void ChaosWorld::EditNodeStatus(const std::string& name, const std::function<void(Json&)>& edit) {
  absl::StatusOr<Json> node = world.memory->Get(kube::kNodes, {"", name});
  if (!node.ok()) return;
  edit(*node);
  world.memory->UpdateStatus(kube::kNodes, *node).value();
}

void ChaosWorld::EditJob(const std::string& name, const std::function<void(Json&)>& edit) {
  absl::StatusOr<Json> job = world.memory->Get(kube::kTrainingJobs, {"default", name});
  if (!job.ok() || kube::IsTerminating(*job)) return;
  edit(*job);
  world.memory->Update(kube::kTrainingJobs, *job).value();
}

void ChaosWorld::SetReady(const std::string& node, const std::string& status) {
  EditNodeStatus(node, [&](Json& object) {
    object["status"]["conditions"] = {{{"type", "Ready"}, {"status", status}}};
  });
}

void ChaosWorld::EvictPods(const std::string& node, bool force) {
  for (const Json& pod : world.Pods()) {
    if (kube::StringAt(pod, {"spec", "nodeName"}) != node) continue;
    kube::DeleteOptions options;
    if (force) options.grace_period_seconds = 0;
    world.memory->Delete(kube::kPods, kube::KeyOf(pod), options).IgnoreError();
  }
}

void ChaosWorld::Calm() {
  Note("calm");
  strike_.reset();
  lease_cut_until = absl::InfinitePast();
  world.faulty->SetPolicy({.seed = seed});
  // Everything that faults had put off happens now, so that each of them ends.
  while (!later_.empty()) {
    const std::function<void()> what = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    what();
  }
  for (ReplicaWorld::Host& host : world.hosts) {
    host.held = {false, false, false};
    host.frozen = false;
  }
  world.fleet->Mend();
  // A cloud adds machines while pods wait.
  for (int i = 0; i < 4; ++i) AddNode(false, 8);
}

}  // namespace muster::control
