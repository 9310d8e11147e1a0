#include "operator/runtime/pod_sharing.h"

#include <algorithm>
#include <utility>

namespace muster::control {

std::shared_ptr<const PodRecord> PodSharing::Keep(PodRecord pod) {
  if (!pod.job.empty()) return std::make_shared<const PodRecord>(std::move(pod));
  const Resources& takes = pod.requests;
  Taken taken{pod.view.node,    pod.view.phase,     takes.gpus,
              takes.cpu_millis, takes.memory_bytes, takes.slots};
  if (const auto known = shared_.find(taken); known != shared_.end()) {
    if (auto record = known->second.lock()) return record;
  }
  if (shared_.size() >= sweep_at_) Sweep();
  PodRecord kept;
  kept.requests = takes;
  kept.view.node = pod.view.node;
  kept.view.phase = pod.view.phase;
  auto record = std::make_shared<const PodRecord>(std::move(kept));
  shared_[std::move(taken)] = record;
  return record;
}

void PodSharing::Sweep() {
  std::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<size_t>(1024, 2 * shared_.size());
}

}  // namespace muster::control
