#include "operator/core/spot.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/core/membership.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

// Leaving takes a round (seconds), so the checkpoint may take half of what is left.
constexpr double kSaveShare = 0.5;

const WorkerMemory* MemoryOf(const RoundMemory& memory, int index) {
  const auto known = memory.workers.find(index);
  return known == memory.workers.end() ? nullptr : &known->second;
}

bool Leaves(const RoundMemory& memory, int index, int incarnation) {
  const WorkerMemory* worker = MemoryOf(memory, index);
  return worker != nullptr && worker->leaving && worker->noticed == incarnation;
}

// Members that would be left in a round without those that leave.
int Staying(const RoundMemory& memory) {
  int staying = 0;
  for (const v1alpha1::Member& member : memory.members) {
    staying += !Leaves(memory, member.worker().index(), member.worker().incarnation());
  }
  return staying;
}

int64_t NewestCheckpoint(const JobView& view) {
  return view.checkpoint.written ? view.checkpoint.written->version().step() : -1;
}

void Notice(Draft& draft, const Worker& worker, const NoticeTaint& notice) {
  RoundMemory& memory = draft.memory();
  WorkerMemory& known = memory.workers[worker.index];
  known.noticed = worker.incarnation;
  known.leaving = false;
  known.leave_at = draft.view.now + notice.warning * kSaveShare;
  known.checkpoint_at_notice = NewestCheckpoint(draft.view);
  draft.Warning(Reason::kNodeGoesAway,
                absl::StrCat("node ", worker.pod->node, " of worker ", worker.index, " goes away (",
                             notice.key, ", ", notice.who, "): leaving within ",
                             absl::FormatDuration(notice.warning)));
  const bool member = MemberIndices(memory.members).count(worker.index) > 0;
  if (memory.phase != RoundPhase::kActive || !member || !draft.spec().has_checkpoint()) return;
  if (worker.presence == Presence::kPresent) draft.Send(worker, SaveOrder{memory.id});
}

void DecideToLeave(Draft& draft, const Worker& worker) {
  WorkerMemory& known = draft.memory().workers[worker.index];
  const bool can_save =
      draft.memory().phase == RoundPhase::kActive && draft.spec().has_checkpoint();
  const bool saved = NewestCheckpoint(draft.view) > known.checkpoint_at_notice;
  known.leaving = !can_save || saved || draft.view.now >= known.leave_at;
  if (!known.leaving) draft.RequeueAt(known.leave_at);
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
       "AWS expects to take a spot node"},
      {"cloud.google.com/impending-node-termination", "", absl::Seconds(30),
       "Google takes the node"},
      {"remediator.kubernetes.azure.com/unschedulable", "", absl::Seconds(30),
       "Azure takes or repairs the node"},
      {"karpenter.sh/disrupted", "", absl::Seconds(120), "Karpenter removes the node"},
      {"karpenter.sh/disruption", "disrupting", absl::Seconds(120), "Karpenter removes the node"},
      {"ToBeDeletedByClusterAutoscaler", "", absl::Seconds(120),
       "the cluster autoscaler removes the node"},
      {"DeletionCandidateOfClusterAutoscaler", "", absl::Minutes(10),
       "the cluster autoscaler wants to remove the node"},
      {"node.kubernetes.io/out-of-service", "", absl::ZeroDuration(), "the node is shut down"},
  };
  return *taints;
}

const NoticeTaint* FindNotice(const std::vector<TaintView>& taints) {
  const NoticeTaint* found = nullptr;
  for (const TaintView& taint : taints) {
    for (const NoticeTaint& notice : NoticeTaints()) {
      if (notice.key != absl::string_view(taint.key)) continue;
      if (!notice.value.empty() && notice.value != absl::string_view(taint.value)) continue;
      if (found == nullptr || notice.warning < found->warning) found = &notice;
    }
  }
  return found;
}

void LeaveNodes(Draft& draft) {
  if (draft.memory().stopping_since) return;
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || IsLost(worker.presence)) continue;
    const WorkerMemory* known = MemoryOf(draft.memory(), worker.index);
    if (known == nullptr || known->noticed != worker.incarnation) {
      const NoticeTaint* notice = FindNotice(worker.pod->node_taints);
      if (notice == nullptr) continue;
      Notice(draft, worker, *notice);
    }
    if (!IsLeaving(draft.memory(), worker)) DecideToLeave(draft, worker);
  }
}

bool IsLeaving(const RoundMemory& memory, const Worker& worker) {
  return Leaves(memory, worker.index, worker.incarnation);
}

bool MayMoveAway(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stopping_since || !IsLeaving(memory, worker)) return false;
  if (memory.phase == RoundPhase::kIdle) return true;
  if (Staying(memory) < MinWorkers(draft.spec())) return true;
  return memory.phase == RoundPhase::kActive &&
         MemberIndices(memory.members).count(worker.index) == 0;
}

std::optional<Break> FindLeaving(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stopping_since) return std::nullopt;
  const bool may_shrink = Staying(memory) >= MinWorkers(draft.spec());
  for (const v1alpha1::Member& member : memory.members) {
    const int index = member.worker().index();
    if (!Leaves(memory, index, member.worker().incarnation())) continue;
    const Worker* worker = draft.FindWorker(index);
    const bool moved = worker == nullptr || worker->incarnation != member.worker().incarnation();
    if (!moved && !may_shrink) continue;
    Break found;
    found.reason = Reason::kMembershipChanged;
    found.sentence = absl::StrCat("worker ", index, " leaves its node, which goes away");
    return found;
  }
  return std::nullopt;
}

}  // namespace muster::control
