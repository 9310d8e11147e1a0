#include "operator/placement/filter/refusal.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// Formats an amount in the unit in which people write this resource, e.g. "1.5 Gi".
std::string Amount(const std::string& resource, int64_t amount) {
  if (resource == "cpu") return absl::StrCat(static_cast<double>(amount) / 1000);
  const bool bytes = resource == "memory" || resource == "ephemeral-storage" ||
                     resource.rfind("hugepages-", 0) == 0;
  constexpr int64_t kMebi = int64_t{1} << 20;
  if (!bytes || amount < kMebi) return absl::StrCat(amount);
  const bool gibi = amount >= 1024 * kMebi;
  const int64_t tenths = amount / (gibi ? 1024 * kMebi / 10 : kMebi / 10);
  const std::string fraction = tenths % 10 == 0 ? "" : absl::StrCat(".", tenths % 10);
  return absl::StrCat(tenths / 10, fraction, gibi ? "Gi" : "Mi");
}

std::string WithCommas(int64_t number) {
  std::string text = absl::StrCat(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(at, ",");
  return text;
}

// The refusal as a predicate: "<nodes> lack ...", or "<one> lacks ...".
std::string Predicate(const NodeRefusal& of, bool one) {
  const char* const are = one ? "is" : "are";
  const char* const have = one ? "has" : "have";
  switch (of.reason) {
    case FilterReason::kOtherScheduler:
      return absl::StrCat(are, " for a template that names the scheduler ", of.subject);
    case FilterReason::kResourceClaims:
      return absl::StrCat(are, " for a template with resourceClaims, which muster does not place");
    case FilterReason::kNodeFaulty:
      return absl::StrCat(are, " set aside (", of.subject, ")");
    case FilterReason::kNodeLeaving:
      return absl::StrCat(are, " about to go");
    case FilterReason::kNodeNotReady:
      return absl::StrCat(are, " not Ready");
    case FilterReason::kSpotNode:
      return absl::StrCat(are, one ? " a spot node" : " spot nodes",
                          ", which spot.allow rules out");
    case FilterReason::kNodeUnschedulable:
      return absl::StrCat(are, " cordoned");
    case FilterReason::kNodeName:
      return absl::StrCat(are, " not ", of.subject, ", which the template names");
    case FilterReason::kTaint:
      return absl::StrCat(have, " the taint ", of.subject);
    case FilterReason::kNodeAffinity:
      return absl::StrCat(one ? "does" : "do", " not match the template's ", of.subject);
    case FilterReason::kHostPorts:
      return absl::StrCat(have, " the host port ", of.subject, " in use");
    case FilterReason::kResources:
      return absl::StrCat(one ? "lacks " : "lack ", of.subject, " (", Amount(of.subject, of.wanted),
                          " needed, at most ", Amount(of.subject, of.available), " of ",
                          Amount(of.subject, of.total), " free)");
    case FilterReason::kVolumeConflict:
    case FilterReason::kVolumeBinding:
    case FilterReason::kVolumeZone:
      return absl::StrCat("cannot have the volumes (", of.subject, ")");
    case FilterReason::kAttachLimit:
      if (of.total == 0) return absl::StrCat("cannot have the volumes (", of.subject, ")");
      return absl::StrCat("can attach at most ", of.available, " more of ", of.total,
                          " volumes of ", of.subject, " (", of.wanted, " needed)");
    case FilterReason::kTopologySpread:
      if (of.wanted == 0) {
        return absl::StrCat(one ? "does" : "do", " not count for the spread (", of.subject, ")");
      }
      return absl::StrCat("would make the spread over ", of.subject, " uneven (skew ", of.wanted,
                          ", at most ", of.available, ")");
    case FilterReason::kPodAffinity:
      return absl::StrCat(are, " ruled out by ", of.subject, " of pods");
  }
  return "refuse";
}

}  // namespace

std::string_view Name(FilterReason reason) {
  switch (reason) {
    case FilterReason::kOtherScheduler:
      return "OtherScheduler";
    case FilterReason::kResourceClaims:
      return "ResourceClaims";
    case FilterReason::kNodeFaulty:
      return "NodeFaulty";
    case FilterReason::kNodeLeaving:
      return "NodeLeaving";
    case FilterReason::kNodeNotReady:
      return "NodeNotReady";
    case FilterReason::kSpotNode:
      return "SpotNode";
    case FilterReason::kNodeUnschedulable:
      return "NodeUnschedulable";
    case FilterReason::kNodeName:
      return "NodeName";
    case FilterReason::kTaint:
      return "Taint";
    case FilterReason::kNodeAffinity:
      return "NodeAffinity";
    case FilterReason::kHostPorts:
      return "HostPorts";
    case FilterReason::kResources:
      return "Resources";
    case FilterReason::kVolumeConflict:
      return "VolumeConflict";
    case FilterReason::kAttachLimit:
      return "AttachLimit";
    case FilterReason::kVolumeBinding:
      return "VolumeBinding";
    case FilterReason::kVolumeZone:
      return "VolumeZone";
    case FilterReason::kTopologySpread:
      return "TopologySpread";
    case FilterReason::kPodAffinity:
      return "PodAffinity";
  }
  return "Unknown";
}

std::string Sentence(const NodeRefusal& refusal) {
  return "nodes like it " + Predicate(refusal, false);
}

void RefusalSummary::Add(const NodeRefusal& refusal) {
  ++nodes_;
  // Each faulty node has its own report, so they form one group; the sentence shows the first.
  const std::string subject = refusal.reason == FilterReason::kNodeFaulty ? "" : refusal.subject;
  Group& group = groups_[{refusal.reason, subject}];
  if (++group.nodes == 1) group.example = refusal;
  NodeRefusal& example = group.example;
  example.wanted = std::max(example.wanted, refusal.wanted);
  if (refusal.reason == FilterReason::kTopologySpread) return;
  example.available = std::max(example.available, refusal.available);
  example.total = std::max(example.total, refusal.total);
}

std::string RefusalSummary::Text() const {
  if (groups_.empty()) return "there are no nodes";
  return absl::StrCat("of ", WithCommas(nodes_), nodes_ == 1 ? " node " : " nodes ", List());
}

std::string RefusalSummary::List() const {
  std::vector<const Group*> groups;
  for (const auto& [key, group] : groups_) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group* a, const Group* b) { return a->nodes > b->nodes; });
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < groups.size() && i < kMost; ++i) {
    const bool last = i + 1 == std::min(groups.size(), kMost);
    absl::StrAppend(&text,
                    i == 0                           ? ""
                    : last && groups.size() <= kMost ? " and "
                                                     : ", ",
                    WithCommas(groups[i]->nodes), " ",
                    Predicate(groups[i]->example, groups[i]->nodes == 1));
  }
  if (groups.size() > kMost) {
    int64_t rest = 0;
    for (size_t i = kMost; i < groups.size(); ++i) rest += groups[i]->nodes;
    absl::StrAppend(&text, " and ", WithCommas(rest), " for other reasons");
  }
  return text;
}

}  // namespace muster::control
