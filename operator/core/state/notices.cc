#include "operator/core/state/notices.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// The words for a kind of notice of a node's agent, and the time that is left at least when one
// comes without a deadline.
struct NoticeKind {
  absl::string_view kind;
  absl::Duration warning;
  absl::string_view does;
  bool advice = false;
};

// A kind that this version does not know is the last.
constexpr NoticeKind kNoticeKinds[] = {
    {"Rebalance", absl::Seconds(120), "expects to take the node", true},
    {"Maintenance", absl::Seconds(60), "maintains the machine"},
    {"Reclaim", absl::Seconds(30), "takes the node"},
};

const NoticeKind& KindOf(const NodeNotice& notice) {
  for (const NoticeKind& kind : kNoticeKinds) {
    if (kind.kind == absl::string_view(notice.kind)) return kind;
  }
  return *std::rbegin(kNoticeKinds);
}

Announcement AnnouncementOf(const NodeNotice& notice, absl::Time wall) {
  const NoticeKind& kind = KindOf(notice);
  const absl::Duration left = notice.deadline ? *notice.deadline - wall : kind.warning;
  return {absl::StrCat(kNoticeLabel, "=", notice.kind),
          absl::StrCat(notice.who.empty() ? "the cloud" : notice.who, " ", kind.does), left,
          /*node_stays=*/false, kind.advice};
}

}  // namespace

const std::vector<NoticeTaint>& NoticeTaints() {
  static const auto* taints = new std::vector<NoticeTaint>{
      {"aws-node-termination-handler/spot-itn", "", absl::Seconds(120), "AWS takes a spot node"},
      {"aws-node-termination-handler/scheduled-maintenance", "", absl::Seconds(120),
       "AWS maintains the machine"},
      {"aws-node-termination-handler/asg-lifecycle-termination", "", absl::Seconds(120),
       "AWS shrinks the group"},
      {"aws-node-termination-handler/rebalance-recommendation", "", absl::Seconds(120),
       "AWS expects to take a spot node", true},
      {"cloud.google.com/impending-node-termination", "", absl::Seconds(30),
       "Google takes the node"},
      {"remediator.kubernetes.azure.com/unschedulable", "", absl::Seconds(30),
       "Azure takes or repairs the node"},
      {"karpenter.sh/disrupted", "", absl::Seconds(120), "Karpenter removes the node"},
      {"karpenter.sh/disruption", "disrupting", absl::Seconds(120), "Karpenter removes the node"},
      {"ToBeDeletedByClusterAutoscaler", "", absl::Seconds(120),
       "the cluster autoscaler removes the node"},
      {"DeletionCandidateOfClusterAutoscaler", "", absl::Minutes(10),
       "the cluster autoscaler wants to remove the node", true},
      {kOutOfService, "", absl::ZeroDuration(), "the node is shut down"},
  };
  return *taints;
}

const NoticeTaint* FindNoticeTaint(const std::vector<TaintView>& taints) {
  const NoticeTaint* found = nullptr;
  for (const TaintView& taint : taints) {
    for (const NoticeTaint& notice : NoticeTaints()) {
      if (notice.key != absl::string_view(taint.key)) continue;
      if (!notice.value.empty() && notice.value != absl::string_view(taint.value)) continue;
      if (notice.advice && taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
      const bool earlier =
          found != nullptr && notice.advice == found->advice && notice.warning < found->warning;
      if (found == nullptr || earlier || (found->advice && !notice.advice)) found = &notice;
    }
  }
  return found;
}

std::optional<Announcement> FindAnnouncement(const std::vector<TaintView>& taints,
                                             const std::optional<NodeNotice>& notice,
                                             absl::Time wall) {
  std::optional<Announcement> found;
  if (const NoticeTaint* taint = FindNoticeTaint(taints)) {
    found = {std::string(taint->key), std::string(taint->who), taint->warning,
             /*node_stays=*/false, taint->advice};
  }
  if (!notice) return found;
  Announcement reported = AnnouncementOf(*notice, wall);
  // Certainty counts before advice.
  const bool earlier = found && reported.advice == found->advice && reported.left < found->left;
  if (!found || earlier || (found->advice && !reported.advice)) found = std::move(reported);
  return found;
}

}  // namespace muster::control
