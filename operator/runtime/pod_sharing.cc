#include "operator/runtime/pod_sharing.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace muster::control {
namespace {

bool TakeTheSame(const PodRecord& a, const PodRecord& b) {
  return a.view.node == b.view.node && a.view.phase == b.view.phase && a.requests == b.requests;
}

size_t HashOf(const PodRecord& pod) {
  const Resources& takes = pod.requests;
  return absl::HashOf(pod.view.node, pod.view.phase, takes.gpus, takes.cpu_millis,
                      takes.memory_bytes, takes.slots);
}

}  // namespace

std::shared_ptr<const PodRecord> PodSharing::Keep(PodRecord pod) {
  if (!pod.job.empty()) return std::make_shared<const PodRecord>(std::move(pod));
  PodRecord kept;
  kept.view.phase = pod.view.phase;
  if (!pod.ended()) {
    kept.view.node = std::move(pod.view.node);
    kept.requests = pod.requests;
  }
  const size_t hash = HashOf(kept);
  const auto known = shared_.find(hash);
  if (known != shared_.end()) {
    const std::shared_ptr<const PodRecord> record = known->second.lock();
    if (record != nullptr && TakeTheSame(*record, kept)) return record;
  }
  if (shared_.size() >= sweep_at_) Sweep();
  auto record = std::make_shared<const PodRecord>(std::move(kept));
  shared_[hash] = record;
  return record;
}

void PodSharing::Sweep() {
  absl::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
  sweep_at_ = std::max<size_t>(1024, 2 * shared_.size());
}

}  // namespace muster::control
