#include "operator/core/leave/spot.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"
#include "operator/core/leave/move.h"
#include "operator/core/leave/notice_outcome.h"
#include "operator/core/leave/spares.h"
#include "operator/core/resume/held_slices.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/leave_plan.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/notices.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

// An announcement replaces an earlier one if its deadline is earlier by more than this; the labels
// of nodes have whole seconds.
constexpr absl::Duration kSooner = absl::Seconds(1);
constexpr size_t kMaxNotice = 256;
// The limit of status.workers.leaving: thousands of workers may leave at once.
constexpr int kMaxLeaving = 256;

// Returns true if the round that is being formed was opened with the worker `index` although it
// leaves: the others get its state there.
bool IsCarried(const RoundMemory& memory, int index) {
  const bool forming =
      memory.phase == RoundPhase::kPreparing || memory.phase == RoundPhase::kJoining;
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return forming && worker != nullptr && worker->notice.carried_round == memory.id.round;
}

// Returns how many workers the next round has without those that leave.
int CountStaying(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  int staying = ReadySpares(draft);
  for (const v1alpha1::Member& member : memory.members) {
    staying += !IsToLeave(memory, member.worker().index(), member.worker().incarnation());
  }
  return staying;
}

// Returns true if a spare is left for the worker's seat once all members with a notice have left.
bool HasSpareFor(const Draft& draft, const Worker& worker) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive) return false;
  if (MemberIndices(memory.members).count(worker.index) == 0) return false;
  int spares = ReadySpares(draft);
  for (const v1alpha1::Member& member : memory.members) {
    const WorkerMemory* known = FindWorkerMemory(memory, member.worker().index());
    if (member.worker().index() == worker.index || known == nullptr) continue;
    spares -= known->notice.incarnation == member.worker().incarnation();
  }
  return spares > 0;
}

// Returns null unless the worker's pod has an announcement in the memory.
NoticeMemory* FindNotice(Draft& draft, const Worker& worker) {
  const auto found = draft.memory().workers.find(worker.index);
  if (worker.pod == nullptr || found == draft.memory().workers.end()) return nullptr;
  NoticeMemory& notice = found->second.notice;
  return notice.incarnation == worker.incarnation ? &notice : nullptr;
}

// Returns the fault of its node for which a worker leaves before it fails there. Broken GPUs
// concern only workers that have some, and the network only those that have somebody to talk to.
std::optional<Announcement> FaultFor(const Draft& draft, const PodView& pod) {
  const v1alpha1::WorkersSpec& workers = draft.spec().workers();
  const auto leaves = [](const std::string& fault, const char* why) {
    return Announcement{fault, why, kNodeStaysWarning, true};
  };
  if (!pod.gpu_fault.empty() && workers.gpus() > 0) {
    return leaves(pod.gpu_fault, "its GPUs are not to be used");
  }
  if (!pod.network_fault.empty() && workers.count() > 1) {
    return leaves(pod.network_fault, "its network is not to be used");
  }
  if (!pod.machine_fault.empty()) return leaves(pod.machine_fault, "nothing is to run there");
  return std::nullopt;
}

// Besides nodes that go away, a worker leaves one with a fault, and one that is to move leaves its
// own.
std::optional<Announcement> AnnouncementFor(const Draft& draft, const Worker& worker) {
  const PodView& pod = *worker.pod;
  auto found = FindAnnouncement(pod.node_taints, pod.node_notice, draft.view.wall);
  if (found) return found;
  if ((found = FaultFor(draft, pod))) return found;
  const std::string why = WhyMoves(draft.plan.memory, worker);
  if (why.empty()) return std::nullopt;
  return Announcement{why, "it goes to another node", kNodeStaysWarning, true};
}

void SetDeadline(const Draft& draft, absl::Duration left, NoticeMemory& notice) {
  notice.deadline = draft.view.now + left;
  notice.deadline_wall = draft.view.wall + left;
}

// Returns false if the cache lacks the node, so that its taints are not known.
bool IsNodeKnown(const PodView& pod) {
  return std::any_of(pod.node_conditions.begin(), pod.node_conditions.end(),
                     [](const ConditionView& condition) {
                       return condition.type == "Ready" && condition.reason != kNodeDeleted;
                     });
}

// Notes what is announced about the worker's node now.
void Note(Draft& draft, const Worker& worker) {
  if (worker.pod == nullptr || IsLost(worker.presence) || worker.ended) return;
  NoticeMemory* known = FindNotice(draft, worker);
  std::optional<Announcement> found = AnnouncementFor(draft, worker);
  if (found && found->advice && known == nullptr && !HasSpareFor(draft, worker)) found.reset();
  if (!found) {
    if (known != nullptr && !known->leaves && IsNodeKnown(*worker.pod)) {
      NoteWithdrawn(draft, worker.index);
    }
    return;
  }
  if (known != nullptr && draft.view.now + found->left + kSooner > known->deadline) return;
  if (known == nullptr) {
    known = &draft.memory().workers[worker.index].notice;
    *known = {};
    known->incarnation = worker.incarnation;
    known->checkpoint = NewestCheckpoint(draft);
  }
  if (known->leaves) return;
  known->source = absl::StrCat(found->source, ", ", found->who);
  known->node_stays = found->node_stays;
  known->plan.reset();
  known->told = false;
  SetDeadline(draft, found->left, *known);
  known->leave_at = known->deadline;
  known->leave_wall = known->deadline_wall;
}

// A new leader goes on with the deadline and the latest time of the last one; neither may grow,
// should the wall clock have been set back.
void RestoreNotice(Draft& draft, const Worker& worker, const v1alpha1::LeavingWorker& kept) {
  NoticeMemory& notice = draft.memory().workers[worker.index].notice;
  const std::optional<Announcement> found =
      worker.pod == nullptr ? std::nullopt : AnnouncementFor(draft, worker);
  const absl::Duration most = found ? found->left : absl::ZeroDuration();
  const auto left = [&](const std::string& wall) {
    return std::min(ParseWall(wall) - draft.view.wall, most);
  };
  const absl::Duration leaves_in = std::max(left(kept.leave_time()), absl::ZeroDuration());
  notice = {};
  notice.incarnation = worker.incarnation;
  notice.source = kept.notice();
  notice.told = true;
  notice.checkpoint = kept.checkpoint_step();
  const bool dated = kept.has_deadline();
  SetDeadline(draft, dated ? left(kept.deadline()) : most, notice);
  notice.leave_at = draft.view.now + leaves_in;
  notice.leave_wall = draft.view.wall + leaves_in;
}

// Workers for which the status had no room leave no earlier than those that it names.
void RestoreUnnamedNotices(Draft& draft) {
  const auto& kept = draft.view.status.workers().leaving();
  if (kept.size() < kMaxLeaving) return;
  v1alpha1::LeavingWorker latest;
  latest.set_checkpoint_step(-1);
  for (const v1alpha1::LeavingWorker& worker : kept) {
    if (ParseWall(worker.leave_time()) > ParseWall(latest.leave_time())) {
      latest.set_leave_time(worker.leave_time());
      latest.set_deadline(worker.deadline());
    }
    latest.set_checkpoint_step(std::max(latest.checkpoint_step(), worker.checkpoint_step()));
  }
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || FindNotice(draft, worker) != nullptr) continue;
    const std::optional<Announcement> found = AnnouncementFor(draft, worker);
    if (!found) continue;
    latest.set_notice(absl::StrCat(found->source, ", ", found->who));
    RestoreNotice(draft, worker, latest);
  }
}

// Restores what the last leader had noticed.
void RestoreNotices(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.notices_restored) return;
  memory.notices_restored = true;
  RestoreMoves(draft);
  for (const v1alpha1::LeavingWorker& kept : draft.view.status.workers().leaving()) {
    const Worker* worker = draft.FindWorker(kept.index());
    if (worker == nullptr || worker->incarnation != kept.incarnation()) continue;
    RestoreNotice(draft, *worker, kept);
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
    if (worker.pod == nullptr || known == nullptr || known->notice.settled ||
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

// Returns true if the members that are there, and that no notice concerns, hold all of the state.
bool OthersHoldAll(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  return HoldEverySlice(draft, [&](const v1alpha1::Member& member) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || IsLost(worker->presence)) return false;
    const WorkerMemory* known = FindWorkerMemory(memory, member.worker().index());
    return known == nullptr || known->notice.incarnation != member.worker().incarnation();
  });
}

// Returns true if a checkpoint may still come before the worker leaves: from the round under way,
// or from the next one where a part of the state would be lost without it.
bool MaySave(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (!draft.spec().has_checkpoint()) return false;
  if (memory.phase == RoundPhase::kActive || draft.TakingOver()) return true;
  return draft.spec().has_trainer() && memory.was_active && memory.phase != RoundPhase::kIdle &&
         !OthersHoldAll(draft);
}

LeaveFacts FactsOf(const Draft& draft, const NoticeMemory& notice) {
  LeaveFacts facts;
  facts.left = std::max(notice.deadline - draft.view.now, absl::ZeroDuration());
  facts.may_save = MaySave(draft);
  const std::optional<v1alpha1::CheckpointReport>& written = draft.view.checkpoint.written;
  if (written && written->seconds() > 0) {
    facts.save = absl::Seconds(written->seconds());
    // A save begins with the end of a step.
    const double steps_per_second = draft.view.progress.steps_per_second;
    if (steps_per_second > 0) *facts.save += absl::Seconds(1 / steps_per_second);
  }
  const v1alpha1::ResizeStatus& resize = draft.plan.status.resize();
  facts.change = resize.has_pause_seconds() ? absl::Seconds(resize.pause_seconds())
                                            : draft.options.resize_pause;
  facts.others_hold_all = OthersHoldAll(draft);
  return facts;
}

absl::string_view Deed(LeavePlan plan) {
  switch (plan) {
    case LeavePlan::kSave:
      return "a checkpoint is saved before it leaves";
    case LeavePlan::kHandOver:
      return "it leaves after this step and hands over to the others";
    case LeavePlan::kLeave:
      return "it leaves at once";
  }
  return "";
}

void MakePlan(Draft& draft, const Worker& worker, NoticeMemory& notice) {
  LeaveFacts facts = FactsOf(draft, notice);
  if (IsWaitingSpare(draft, worker)) {
    facts.may_save = false;
    facts.others_hold_all = true;
  }
  const LeaveChoice choice = ChooseLeavePlan(facts);
  notice.plan = choice.plan;
  notice.leave_at = std::min(notice.leave_at, draft.view.now + choice.latest);
  notice.leave_wall = std::min(notice.leave_wall, draft.view.wall + choice.latest);
  if (std::exchange(notice.told, true)) return;
  const std::string& node = worker.pod->node;
  const std::string what = notice.node_stays
                               ? absl::StrCat("worker ", worker.index, " leaves node ", node)
                               : absl::StrCat("node ", node, " of worker ", worker.index,
                                              " goes away in ", TenthsText(facts.left));
  draft.EmitWarning(notice.node_stays ? Reason::kLeavesNode : Reason::kNodeGoesAway,
                    absl::StrCat(what, " (", notice.source, "): ", Deed(choice.plan), ", because ",
                                 choice.reason));
}

void DecideToLeave(Draft& draft, const Worker& worker, NoticeMemory& notice) {
  if (!notice.plan) MakePlan(draft, worker, notice);
  const bool saved = NewestCheckpoint(draft) > notice.checkpoint;
  notice.leaves = notice.plan != LeavePlan::kSave || saved || !MaySave(draft) ||
                  draft.view.now >= notice.leave_at;
  if (notice.leaves) return;
  AskToSave(draft, worker);
  draft.RequeueAt(notice.leave_at);
}

}  // namespace

void EvacuateNodes(Draft& draft) {
  if (draft.memory().stop.since) return;
  RestoreNotices(draft);
  // All are noted before one is planned: those that go together hold nothing for each other.
  for (const Worker& worker : draft.workers) Note(draft, worker);
  for (const Worker& worker : draft.workers) {
    NoticeMemory* notice = FindNotice(draft, worker);
    if (notice == nullptr || notice->leaves || IsLost(worker.presence) || worker.ended) continue;
    DecideToLeave(draft, worker, *notice);
  }
}

void KeepNotices(Draft& draft) {
  RestoreNotices(draft);
  SettleNotices(draft);
  google::protobuf::RepeatedPtrField<v1alpha1::LeavingWorker> kept;
  for (const int index : FirstToLeave(draft)) {
    const NoticeMemory& notice = draft.memory().workers.at(index).notice;
    v1alpha1::LeavingWorker& leaving = *kept.Add();
    leaving.set_index(index);
    leaving.set_incarnation(notice.incarnation);
    leaving.set_leave_time(FormatWall(notice.leave_wall));
    leaving.set_checkpoint_step(notice.checkpoint);
    leaving.set_deadline(FormatWall(notice.deadline_wall));
    if (!notice.source.empty()) leaving.set_notice(notice.source.substr(0, kMaxNotice));
    if (notice.plan) leaving.set_plan(std::string(Name(*notice.plan)));
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
  if (CountStaying(draft) < MinWorkers(draft.spec())) return true;
  return memory.phase == RoundPhase::kActive &&
         MemberIndices(memory.members).count(worker.index) == 0;
}

void NoteCarried(Draft& draft) {
  RoundMemory& memory = draft.memory();
  for (const v1alpha1::Member& member : memory.members) {
    const int index = member.worker().index();
    if (!IsToLeave(memory, index, member.worker().incarnation())) continue;
    memory.workers[index].notice.carried_round = memory.id.round;
  }
}

std::optional<Break> FindLeaving(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.stop.since) return std::nullopt;
  const bool may_shrink = CountStaying(draft) >= MinWorkers(draft.spec());
  for (const v1alpha1::Member& member : memory.members) {
    const int index = member.worker().index();
    if (!IsToLeave(memory, index, member.worker().incarnation())) continue;
    const Worker* worker = draft.FindWorker(index);
    if (worker != nullptr && worker->ended) continue;
    const bool moved = worker == nullptr || worker->incarnation != member.worker().incarnation();
    const int incarnation = member.worker().incarnation();
    if (!moved && !may_shrink && !IsExcluded(memory, index, incarnation)) continue;
    if (!moved && IsCarried(memory, index)) continue;
    Break found;
    found.reason = Reason::kMembershipChanged;
    found.sentence = absl::StrCat("worker ", index, " leaves its node");
    return found;
  }
  return std::nullopt;
}

}  // namespace muster::control
