#include "operator/scheduler/bind/volume_wait.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/filter/node_filter.h"

namespace muster::control {
namespace {

bool IsBound(const ClusterSnapshot& snapshot, const kube::ObjectKey& key) {
  const VolumeClaim* claim = snapshot.FindClaim(key.name_space, key.name);
  return claim != nullptr && claim->bind_completed && !claim->volume.empty();
}

}  // namespace

bool VolumeWait::Begin(const std::string& job_uid, const std::vector<Member>& members,
                       const ClusterModel& model, absl::Time now, PodWriter& writer) {
  const bool any = std::any_of(members.begin(), members.end(), [](const Member& member) {
    return !member.pod->scheduling->wants().claims.empty();
  });
  if (!any) return false;
  Gang gang{members, {}, now, ""};
  ClusterSnapshot next = model.snapshot();
  for (const Member& member : members) {
    if (member.pod->scheduling->wants().claims.empty()) continue;
    const NodeState* node = next.FindNode(member.node);
    if (node == nullptr) continue;
    const std::string& ns = member.pod->key.name_space;
    const VolumeNeeds needs = AssumeVolumes(*node, *member.pod->scheduling, next);
    for (const std::string& claim : needs.select_node) {
      // The first of the members that share a claim chooses its node.
      if (!gang.claims.emplace(kube::ObjectKey{ns, claim}, member.node).second) continue;
      writer.Add({PodWrite::Kind::kSelectNode, job_uid, member.pod, member.node, claim});
    }
    for (const VolumeNeeds::Prebind& one : needs.prebind) {
      gang.claims[{ns, one.claim}] = member.node;
      writer.Add({PodWrite::Kind::kGiveVolume, job_uid, member.pod, one.volume, one.claim});
    }
  }
  if (gang.claims.empty()) return false;
  gangs_[job_uid] = std::move(gang);
  return true;
}

void VolumeWait::Failed(const PodWritten& written) {
  GiveUp(written.write.job_uid, std::string(written.status.message()));
}

void VolumeWait::GiveUp(const std::string& job_uid, const std::string& why) {
  const auto gang = gangs_.find(job_uid);
  if (gang != gangs_.end() && gang->second.failure.empty()) gang->second.failure = why;
}

// Returns true if the gang's pods still wait and are promised.
bool VolumeWait::AreMembers(const std::string& uid, const Gang& gang, const ClusterModel& model) {
  return model.gangs().count(uid) > 0 &&
         std::all_of(gang.members.begin(), gang.members.end(),
                     [&](const Member& member) { return model.IsPromised(*member.pod); });
}

std::string VolumeWait::WhyNot(const Gang& gang, const ClusterModel& model, absl::Time now) const {
  if (!gang.failure.empty()) return gang.failure;
  for (const auto& [claim, node] : gang.claims) {
    if (IsBound(model.snapshot(), claim)) continue;
    if (now < gang.since + deadline_) return "";
    return absl::StrCat("claim ", claim.name, " was not bound for node ", node, " within ",
                        absl::FormatDuration(deadline_));
  }
  for (const Member& member : gang.members) {
    const NodeState* node = model.snapshot().FindNode(member.node);
    if (node == nullptr) return absl::StrCat("node ", member.node, " is gone");
    const auto refusal = CheckVolumes(*node, *member.pod->scheduling, model.snapshot());
    if (refusal) return absl::StrCat("node ", member.node, ": ", refusal->subject);
  }
  return "";
}

std::vector<VolumeWait::Outcome> VolumeWait::Take(const ClusterModel& model, absl::Time now,
                                                  PodWriter& writer) {
  std::vector<Outcome> outcomes;
  for (auto it = gangs_.begin(); it != gangs_.end();) {
    const auto& [uid, gang] = *it;
    std::string why_not =
        AreMembers(uid, gang, model) ? WhyNot(gang, model, now) : "a member is gone";
    const bool bound = std::all_of(gang.claims.begin(), gang.claims.end(), [&](const auto& claim) {
      return IsBound(model.snapshot(), claim.first);
    });
    if (why_not.empty() && !bound) {
      ++it;
      continue;
    }
    for (const auto& [claim, node] : gang.claims) {
      if (why_not.empty() || IsBound(model.snapshot(), claim)) continue;
      writer.Add({PodWrite::Kind::kForgetNode, uid, gang.members.front().pod, node, claim.name});
    }
    outcomes.push_back({uid, gang.members, std::move(why_not)});
    it = gangs_.erase(it);
  }
  return outcomes;
}

}  // namespace muster::control
