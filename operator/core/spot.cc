#include "operator/core/spot.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_field.h"
#include "operator/core/conditions.h"
#include "operator/core/membership.h"
#include "operator/core/progress.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

// Leaving takes a round (seconds), so the checkpoint may take half of what is left.
constexpr double kSaveShare = 0.5;
// The limit of status.workers.leaving: thousands of workers may leave at once.
constexpr int kMaxLeaving = 256;

bool IsToLeave(const RoundMemory& memory, int index, int incarnation) {
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return worker != nullptr && worker->notice.leaves && worker->notice.incarnation == incarnation;
}

// Returns the number of members in a round without those that leave.
int CountStaying(const RoundMemory& memory) {
  int staying = 0;
  for (const v1alpha1::Member& member : memory.members) {
    staying += !IsToLeave(memory, member.worker().index(), member.worker().incarnation());
  }
  return staying;
}

absl::Duration SaveTime(const NoticeTaint& notice) { return notice.warning * kSaveShare; }

void Notice(Draft& draft, const Worker& worker, const NoticeTaint& notice) {
  WorkerMemory& known = draft.memory().workers[worker.index];
  known.notice.incarnation = worker.incarnation;
  known.notice.leaves = false;
  known.notice.save_requested = false;
  known.notice.leave_at = draft.view.now + SaveTime(notice);
  known.notice.leave_wall = draft.view.wall + SaveTime(notice);
  known.notice.checkpoint = NewestCheckpoint(draft);
  draft.EmitWarning(Reason::kNodeGoesAway,
                    absl::StrCat("node ", worker.pod->node, " of worker ", worker.index,
                                 " goes away (", notice.key, ", ", notice.who, "): leaving within ",
                                 absl::FormatDuration(notice.warning)));
}

void RestoreNotice(Draft& draft, const Worker& worker, absl::Time leave_wall, int64_t step) {
  WorkerMemory& known = draft.memory().workers[worker.index];
  known.notice.incarnation = worker.incarnation;
  known.notice.leave_wall = leave_wall;
  // A wall clock that was set back must not make the wait any longer.
  const NoticeTaint* notice = worker.pod == nullptr ? nullptr : FindNotice(worker.pod->node_taints);
  const absl::Duration most = notice == nullptr ? absl::ZeroDuration() : SaveTime(*notice);
  known.notice.leave_at =
      draft.view.now + std::clamp(leave_wall - draft.view.wall, absl::ZeroDuration(), most);
  known.notice.checkpoint = step;
}

// Workers for which the status had no room leave no earlier than those that it names.
void RestoreUnnamedNotices(Draft& draft) {
  const auto& kept = draft.view.status.workers().leaving();
  if (kept.size() < kMaxLeaving) return;
  absl::Time latest = absl::InfinitePast();
  int64_t step = -1;
  for (const v1alpha1::LeavingWorker& worker : kept) {
    latest = std::max(latest, ParseWall(worker.leave_time()));
    step = std::max(step, worker.checkpoint_step());
  }
  for (const Worker& worker : draft.workers) {
    const WorkerMemory* known = FindWorkerMemory(draft.memory(), worker.index);
    if (worker.pod == nullptr ||
        (known != nullptr && known->notice.incarnation == worker.incarnation)) {
      continue;
    }
    const NoticeTaint* notice = FindNotice(worker.pod->node_taints);
    if (notice == nullptr) continue;
    RestoreNotice(draft, worker, std::min(latest, draft.view.wall + SaveTime(*notice)), step);
  }
}

// Restores what the last leader had noticed.
void RestoreNotices(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.notices_restored) return;
  memory.notices_restored = true;
  for (const v1alpha1::LeavingWorker& kept : draft.view.status.workers().leaving()) {
    const Worker* worker = draft.FindWorker(kept.index());
    if (worker == nullptr || worker->incarnation != kept.incarnation()) continue;
    RestoreNotice(draft, *worker, ParseWall(kept.leave_time()), kept.checkpoint_step());
  }
  RestoreUnnamedNotices(draft);
}

// Asks once in a leadership, because an order of the last one may never have arrived.
void AskToSave(Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.memory();
  const bool member = MemberIndices(memory.members).count(worker.index) > 0;
  WorkerMemory& known = draft.memory().workers[worker.index];
  if (known.notice.save_requested || memory.phase != RoundPhase::kActive || !member) return;
  if (!draft.spec().has_checkpoint() || worker.presence != Presence::kPresent) return;
  known.notice.save_requested = true;
  draft.Send(worker, SaveOrder{memory.id});
}

// Returns the indices of the workers that leave first, at most kMaxLeaving.
std::set<int> FirstToLeave(const Draft& draft) {
  std::vector<std::pair<absl::Time, int>> leaving;
  for (const Worker& worker : draft.workers) {
    const WorkerMemory* known = FindWorkerMemory(draft.plan.memory, worker.index);
    if (worker.pod == nullptr || known == nullptr ||
        known->notice.incarnation != worker.incarnation)
      continue;
    leaving.emplace_back(known->notice.leave_wall, worker.index);
  }
  std::sort(leaving.begin(), leaving.end());
  std::set<int> first;
  for (const auto& [when, index] : leaving) {
    if (static_cast<int>(first.size()) < kMaxLeaving) first.insert(index);
  }
  return first;
}

void DecideToLeave(Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.memory();
  WorkerMemory& known = draft.memory().workers[worker.index];
  const bool taking_over = memory.id == RoundStamp{} && draft.view.status.round() > 0;
  const bool can_save =
      (memory.phase == RoundPhase::kActive || taking_over) && draft.spec().has_checkpoint();
  const bool saved = NewestCheckpoint(draft) > known.notice.checkpoint;
  known.notice.leaves = !can_save || saved || draft.view.now >= known.notice.leave_at;
  if (known.notice.leaves) return;
  AskToSave(draft, worker);
  draft.RequeueAt(known.notice.leave_at);
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
      {kOutOfService, "", absl::ZeroDuration(), "the node is shut down"},
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

void EvacuateNodes(Draft& draft) {
  if (draft.memory().stop.since) return;
  RestoreNotices(draft);
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || IsLost(worker.presence) || worker.ended) continue;
    const WorkerMemory* known = FindWorkerMemory(draft.memory(), worker.index);
    if (known == nullptr || known->notice.incarnation != worker.incarnation) {
      const NoticeTaint* notice = FindNotice(worker.pod->node_taints);
      if (notice == nullptr) continue;
      Notice(draft, worker, *notice);
    }
    if (!IsLeaving(draft.memory(), worker)) DecideToLeave(draft, worker);
  }
}

void KeepNotices(Draft& draft) {
  RestoreNotices(draft);
  google::protobuf::RepeatedPtrField<v1alpha1::LeavingWorker> kept;
  for (const int index : FirstToLeave(draft)) {
    const WorkerMemory& known = draft.memory().workers.at(index);
    v1alpha1::LeavingWorker& leaving = *kept.Add();
    leaving.set_index(index);
    leaving.set_incarnation(known.notice.incarnation);
    leaving.set_leave_time(FormatWall(known.notice.leave_wall));
    leaving.set_checkpoint_step(known.notice.checkpoint);
  }
  if (kept.empty() && draft.view.status.workers().leaving().empty()) return;
  *draft.status().mutable_workers()->mutable_leaving() = std::move(kept);
}

bool IsLeaving(const RoundMemory& memory, const Worker& worker) {
  return IsToLeave(memory, worker.index, worker.incarnation);
}

bool MayMoveAway(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stop.since || !IsLeaving(memory, worker)) return false;
  if (memory.phase == RoundPhase::kIdle) return true;
  // A command holds nothing that the next round could need.
  if (memory.phase == RoundPhase::kHolding && !draft.spec().has_trainer()) return true;
  if (CountStaying(memory) < MinWorkers(draft.spec())) return true;
  return memory.phase == RoundPhase::kActive &&
         MemberIndices(memory.members).count(worker.index) == 0;
}

std::optional<Break> FindLeaving(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stop.since) return std::nullopt;
  const bool may_shrink = CountStaying(memory) >= MinWorkers(draft.spec());
  for (const v1alpha1::Member& member : memory.members) {
    const int index = member.worker().index();
    if (!IsToLeave(memory, index, member.worker().incarnation())) continue;
    const Worker* worker = draft.FindWorker(index);
    if (worker != nullptr && worker->ended) continue;
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
