#include "operator/objects/pod_sharing.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace muster::control {
namespace {

bool HaveSameFootprint(const SchedulingPod& a, const SchedulingPod& b) {
  return a.nominated == b.nominated && IsAlike(a, b);
}

bool HaveSamePlace(const PodView& a, const PodView& b) {
  return a.node == b.node && a.phase == b.phase;
}

bool HaveSameParts(const PodRecord& a, const PodRecord& b) {
  return a.scheduling == b.scheduling && a.view == b.view;
}

size_t HashOf(const SchedulingPod& pod) {
  return absl::HashOf(pod.ns, pod.labels, pod.uid, pod.priority, pod.terminating, pod.ended,
                      pod.holds.cpu_millis, pod.holds.memory_bytes, pod.holds.scalars);
}

}  // namespace

template <typename Value, typename Same>
std::shared_ptr<const Value> PodSharing::Share(Known<Value>& known, size_t hash, Value value,
                                               Same same) {
  const auto found = known.by_hash.find(hash);
  if (found != known.by_hash.end()) {
    const std::shared_ptr<const Value> there = found->second.lock();
    if (there != nullptr && same(*there, value)) return there;
  }
  if (known.by_hash.size() >= known.sweep_at) {
    absl::erase_if(known.by_hash, [](const auto& entry) { return entry.second.expired(); });
    known.sweep_at = std::max<size_t>(1024, 2 * known.by_hash.size());
  }
  auto kept = std::make_shared<const Value>(std::move(value));
  known.by_hash[hash] = kept;
  return kept;
}

std::shared_ptr<const PodRecord> PodSharing::Keep(PodRecord pod) {
  if (!pod.job.empty()) return std::make_shared<const PodRecord>(std::move(pod));
  PodView view;
  view.phase = pod.view->phase;
  PodRecord kept;
  if (!pod.ended()) {
    view.node = pod.view->node;
    SchedulingPod footprint = Footprint(*pod.scheduling);
    const size_t hash = HashOf(footprint);
    kept.scheduling = Share(footprints_, hash, std::move(footprint), HaveSameFootprint);
  }
  const size_t place = absl::HashOf(view.node, view.phase);
  kept.view = Share(views_, place, std::move(view), HaveSamePlace);
  const size_t hash = absl::HashOf(kept.view.get(), kept.scheduling.get());
  return Share(records_, hash, std::move(kept), HaveSameParts);
}

}  // namespace muster::control
