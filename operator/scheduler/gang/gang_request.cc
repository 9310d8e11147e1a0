#include "operator/scheduler/gang/gang_request.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/core/state/index_ranges.h"
#include "operator/core/state/spec_values.h"
#include "operator/kube/object_meta.h"
#include "operator/placement/filter/filter_memo.h"

namespace muster::control {
namespace {

Resources Largest(const Resources& a, const Resources& b) {
  return {std::max(a.gpus, b.gpus), std::max(a.cpu_millis, b.cpu_millis),
          std::max(a.memory_bytes, b.memory_bytes), std::max(a.slots, b.slots)};
}

}  // namespace

PartialGang MakeGangRequest(const TrainingJob& job, const v1alpha1::TrainingJobSpec& spec,
                            const Gang& gang) {
  PartialGang partial;
  std::set<int> missing;
  for (const auto& [place, pod] : gang.unbound) {
    missing.insert(place.first);
    partial.request.per_worker = Largest(partial.request.per_worker, pod->requests);
  }
  for (const auto& [place, bound] : gang.bound) {
    if (missing.count(place.first) == 0) partial.placed[place.first] = bound.node;
  }
  partial.missing.assign(missing.begin(), missing.end());
  partial.request.job = kube::ToString({job.ns, job.name});
  partial.request.max = static_cast<int>(partial.placed.size() + missing.size());
  partial.request.min =
      std::min(spec.workers().has_min() ? MinWorkers(spec) : 1, partial.request.max);
  partial.request.required_level = spec.topology().require();
  partial.request.preferred_level = spec.topology().prefer();
  partial.request.spot = SpotBoundsOf(spec);
  for (const v1alpha1::TopologySlice& slice : spec.topology().slices()) {
    partial.request.slices.push_back({slice.workers(), slice.level()});
  }
  if (!partial.request.slices.empty()) {
    const v1alpha1::TrainingJobStatus& status = job.status;
    partial.ended = ParseIndices(status.workers().ended(), status.incarnations_size());
    std::erase_if(partial.ended, [&](int worker) {
      return partial.placed.contains(worker) || missing.contains(worker);
    });
  }
  return partial;
}

SpotBounds SpotBoundsOf(const v1alpha1::TrainingJobSpec& spec) {
  SpotBounds bounds;
  if (!spec.has_spot()) return bounds;
  const v1alpha1::SpotSpec& spot = spec.spot();
  bounds.given = true;
  bounds.allow = !spot.has_allow() || spot.allow();
  if (spot.has_max_fraction()) bounds.max_fraction = spot.max_fraction();
  bounds.on_demand_floor = spot.on_demand_floor();
  return bounds;
}

std::string ShapeOf(const PartialGang& gang, const SchedulingPod& pod) {
  const PodConstraints& wants = pod.wants();
  const bool node_local = wants.claims.empty() && wants.spread.empty() && wants.affinity.empty() &&
                          wants.anti_affinity.empty();
  if (!gang.placed.empty() || !gang.ended.empty() || !node_local) return "";
  const GangRequest& r = gang.request;
  std::string shape =
      absl::StrCat(r.per_worker.gpus, " ", r.per_worker.cpu_millis, " ", r.per_worker.memory_bytes,
                   " ", r.min, "..", r.max, " ", r.required_level, " ", r.preferred_level);
  for (const Slice& slice : r.slices) absl::StrAppend(&shape, "\n", slice.size, " ", slice.level);
  if (r.spot.given) {
    absl::StrAppend(&shape, "\nspot ", r.spot.allow, " ", r.spot.max_fraction, " ",
                    r.spot.on_demand_floor);
  }
  absl::StrAppend(&shape, "\n", TemplateKey(pod));
  return shape;
}

std::string FullSentence(const Unplaceable& no, const GangRequest& request,
                         const std::string& left_out) {
  std::string sentence = no.sentence;
  std::vector<std::string> helps;
  if (no.nearest_feasible_size > 0) {
    helps.push_back(absl::StrCat("workers.count <= ", no.nearest_feasible_size));
  }
  if (no.reason == UnplaceableReason::kTopology && !request.required_level.empty()) {
    helps.push_back("topology.prefer in place of require");
  }
  if (no.reason == UnplaceableReason::kSpotLimit) helps.push_back("looser bounds in spot");
  if (!helps.empty()) absl::StrAppend(&sentence, "; fits now with ", absl::StrJoin(helps, " or "));
  if (!left_out.empty()) absl::StrAppend(&sentence, "; nodes left out: ", left_out);
  return sentence;
}

}  // namespace muster::control
