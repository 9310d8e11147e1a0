#include "operator/runtime/gang_request.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/kube/object_meta.h"

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
  partial.request.min = std::clamp(spec.workers().min(), 1, partial.request.max);
  partial.request.required_level = spec.topology().require();
  partial.request.preferred_level = spec.topology().prefer();
  for (const v1alpha1::TopologySlice& slice : spec.topology().slices()) {
    partial.request.slices.push_back({slice.workers(), slice.level()});
  }
  return partial;
}

std::string ShapeOf(const PartialGang& gang, const PodRecord& pod) {
  if (!gang.placed.empty()) return "";
  const GangRequest& r = gang.request;
  std::string shape =
      absl::StrCat(r.per_worker.gpus, " ", r.per_worker.cpu_millis, " ", r.per_worker.memory_bytes,
                   " ", r.min, "..", r.max, " ", r.required_level, " ", r.preferred_level);
  for (const Slice& slice : r.slices) absl::StrAppend(&shape, "\n", slice.size, " ", slice.level);
  for (const auto& [key, value] : pod.node_selector) absl::StrAppend(&shape, "\n", key, "=", value);
  for (const Toleration& one : pod.tolerations) {
    absl::StrAppend(&shape, "\n", one.key, " ", one.value, " ", one.effect, " ", one.exists);
  }
  return shape;
}

GangNodes NodesForPod(const TopologyTree& tree, const NodeAt& node_at, const PodRecord& pod) {
  GangNodes usable;
  int unschedulable = 0;
  int unselected = 0;
  int tainted = 0;
  const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
  for (int i = 0; i < nodes; ++i) {
    if (!tree.node(i).schedulable) {
      ++unschedulable;
      continue;
    }
    const NodeRecord& node = node_at(i);
    const bool selected = pod.node_selector.empty() || Matches(pod.node_selector, node.labels);
    const bool tolerated = node.taints.empty() || Tolerates(pod.tolerations, node.taints);
    if (selected && tolerated) continue;
    ++(selected ? tainted : unselected);
    usable.closed.push_back(i);
  }
  std::vector<std::string> parts;
  const auto add = [&](int count, const char* why) {
    if (count > 0) parts.push_back(absl::StrCat(count, why));
  };
  add(unschedulable, " not ready, cordoned or about to go");
  add(unselected, " not of the nodeSelector");
  add(tainted, " with taints that are not tolerated");
  usable.left_out = absl::StrJoin(parts, ", ");
  return usable;
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
  if (!helps.empty()) absl::StrAppend(&sentence, "; fits now with ", absl::StrJoin(helps, " or "));
  if (!left_out.empty()) absl::StrAppend(&sentence, "; nodes left out: ", left_out);
  return sentence;
}

}  // namespace muster::control
