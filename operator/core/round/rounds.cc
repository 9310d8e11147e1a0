#include "operator/core/round/rounds.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/core/failure/backoff.h"
#include "operator/core/leave/slow_links.h"
#include "operator/core/leave/spares.h"
#include "operator/core/leave/spot.h"
#include "operator/core/resume/floor.h"
#include "operator/core/resume/live_versions.h"
#include "operator/core/resume/resume.h"
#include "operator/core/round/elastic.h"
#include "operator/core/round/hand_over.h"
#include "operator/core/round/next_members.h"
#include "operator/core/round/round_adoption.h"
#include "operator/core/round/round_health.h"
#include "operator/core/round/round_phase.h"
#include "operator/core/saves/disk_copies.h"
#include "operator/core/saves/replicas.h"
#include "operator/core/state/break.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/round_stamp.h"
#include "operator/core/state/round_transition.h"
#include "operator/core/state/trajectory.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

bool IsAttached(const Worker* worker) {
  return worker != nullptr && worker->agent != nullptr && worker->agent->attached;
}

bool MadeProgress(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive) return false;
  if (!draft.spec().has_trainer()) {
    return draft.view.now >= memory.phase_since + draft.options.command_progress_after;
  }
  return HasNewStep(draft);
}

void LeaveOut(Draft& draft, const std::set<int>& failed) {
  const bool can = CanLeaveOut(draft, failed);
  for (int index : failed) {
    WorkerMemory& worker = draft.memory().workers[index];
    worker.named = true;
    worker.shrunk = worker.shrunk || can;
  }
}

void BackOff(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const absl::Duration wait = Backoff(draft, memory.backoff.streak, "round");
  memory.backoff.not_before = draft.view.now + wait;
  memory.backoff.retry_wall = draft.view.wall + wait;
  ++memory.backoff.streak;
}

void BreakRound(Draft& draft, const Break& why) {
  RoundMemory& memory = draft.memory();
  const bool wished =
      why.reason == Reason::kMembershipChanged || why.reason == Reason::kSpecChanged;
  if (MadeProgress(draft)) memory.backoff.streak = 0;
  if (!wished) {
    LeaveOut(draft, why.failed);
    if (!why.same_failure) BackOff(draft);
    // A question to the owner is emitted once, however often the round is tried again.
    if (why.sentence != memory.question.asked) draft.EmitWarning(why.reason, why.sentence);
    memory.question.asked = why.asks ? why.sentence : "";
  } else {
    draft.EmitNormal(why.reason, why.sentence);
  }
  for (int index : why.late) memory.workers[index].needs_replacement = true;
  if (!why.bad_checkpoint.empty()) memory.failure.bad_checkpoints.insert(why.bad_checkpoint);
  if (memory.phase == RoundPhase::kActive) NoteRoundEnded(draft);
  memory.broken_reason = why.reason;
  memory.broken_sentence = why.sentence;
  memory.ready.clear();
  memory.joined.clear();
  memory.go.reset();
  MoveRound(draft, RoundEvent::kBreak);
}

// Sends Prepare to `worker`, which is the member at `place`.
void SendPrepare(Draft& draft, const Worker& worker, size_t place) {
  RoundMemory& memory = draft.memory();
  const Member& last = memory.members.back();
  PrepareOrder order{memory.id,        {}, memory.membership, memory.failure.fresh, memory.spec,
                     memory.trajectory};
  order.place = {.member = memory.members[place],
                 .world_size = last.first_rank() + last.ranks(),
                 .group_rank = static_cast<int>(place),
                 .group_world_size = static_cast<int>(memory.members.size())};
  const auto before = memory.swap.takes_over.find(worker.index);
  if (before != memory.swap.takes_over.end()) order.copies_of = before->second;
  if (!memory.failure.fresh) {
    order.replicas_at = ReplicasOf(draft, order.copies_of.value_or(worker.index));
  }
  draft.Send(worker, std::move(order));
  memory.sent_session[worker.index] = worker.agent->session;
}

void Open(Draft& draft, const MemberSelection& wanted) {
  const std::vector<const Worker*>& workers = wanted.workers;
  RoundMemory& memory = draft.memory();
  v1alpha1::TrainingJobStatus& status = draft.status();
  memory.id = {draft.view.leader_term, draft.view.status.round() + 1};
  NoteSeats(draft, wanted.seats);
  memory.members = MakeMembers(draft.view, workers);
  memory.spec = std::make_shared<const v1alpha1::TrainingJobSpec>(RoundSpec(draft.spec(), status));
  memory.trajectory = TrajectoryDigest(draft.spec());
  memory.membership = RoundMembership(memory.members, memory.trajectory);
  NoteCarried(draft);
  memory.sent_session.clear();
  memory.question.owner_decision = OwnerDecision(draft.spec());
  memory.failure.fresh = memory.failure.restart_job;
  status.set_term(memory.id.term);
  status.set_round(memory.id.round);
  status.set_membership(memory.membership);
  MoveRound(draft, RoundEvent::kOpen);
  for (size_t i = 0; i < workers.size(); ++i) SendPrepare(draft, *workers[i], i);
  draft.SetReason(
      Reason::kPreparingRound,
      absl::StrCat("round ", memory.id.round, " is prepared with ", workers.size(), " workers"));
}

void TryOpen(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const bool answered =
      IsHeld(memory) && memory.question.owner_decision != OwnerDecision(draft.spec());
  if (draft.view.now < memory.backoff.not_before && !answered) {
    draft.RequeueAt(memory.backoff.not_before);
    draft.SetReason(Reason::kBackingOff, "waiting before the next round is tried");
    return;
  }
  const MemberSelection wanted = ChooseMembers(draft);
  const absl::Time disks = memory.failure.restart_job ? absl::InfinitePast() : DisksKnownBy(draft);
  if (!wanted.workers.empty() && disks > draft.view.now) {
    draft.RequeueAt(disks);
    draft.SetReason(Reason::kWaitingForWorkers, "workers look for copies on their nodes' disks");
    return;
  }
  if (!wanted.workers.empty()) return Open(draft, wanted);
  if (wanted.recheck != absl::InfiniteFuture()) draft.RequeueAt(wanted.recheck);
  draft.SetReason(wanted.wait_reason, wanted.wait_sentence);
}

// After Go, the newest state is that of the members that do not receive it.
void NoteDonors(RoundMemory& memory) {
  const v1alpha1::ResumePoint& resume = memory.go->resume();
  const auto before = std::move(memory.holders);
  memory.holders.clear();
  if (resume.source() != v1alpha1::ResumePoint::LIVE &&
      resume.source() != v1alpha1::ResumePoint::MEMORY) {
    return;
  }
  const std::set<int> receivers(resume.receivers().begin(), resume.receivers().end());
  for (const Member& member : memory.members) {
    for (int rank = member.first_rank(); rank < member.first_rank() + member.ranks(); ++rank) {
      if (receivers.count(rank) > 0) continue;
      const std::pair key(member.worker().index(), member.worker().incarnation());
      const auto known = before.find(key);
      memory.holders[key] =
          known == before.end() ? std::vector<v1alpha1::StateSlice>() : known->second;
    }
  }
}

void CollectReady(Draft& draft) {
  RoundMemory& memory = draft.memory();
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->ready) continue;
    const ReadyReport& ready = *worker->agent->ready;
    if (ready.round != memory.id) continue;
    if (static_cast<int>(ready.ranks.size()) != member.ranks()) continue;
    memory.ready[worker->index] = ready;
  }
}

void SendGo(Draft& draft, const Worker& worker) {
  draft.Send(worker, GoOrder{draft.memory().go});
  draft.memory().sent_session[worker.index] = worker.agent->session;
}

// The answers of a prepared round's ranks.
struct Answers {
  std::vector<v1alpha1::RankPosition> positions;  // by rank
  std::string endpoint;                           // of the first rank
  bool can_test = true;
};

// A fresh round does not resume from earlier state, even where a rank still has it.
void ForgetState(v1alpha1::RankPosition& position) {
  position.clear_applied();
  position.clear_sealed();
  position.clear_decisions();
  position.clear_copies();
  position.clear_replicas();
}

// A rank reads its own copy as a replica, too, where its state has come to another slice of the
// same version (memory_copies.h).
void ForgetReplicas(v1alpha1::RankPosition& position) {
  position.clear_replicas();
  auto& copies = *position.mutable_copies();
  copies.erase(std::remove_if(copies.begin(), copies.end(),
                              [&](const v1alpha1::StateCopy& copy) {
                                return Holds(position, copy.version());
                              }),
               copies.end());
}

Answers AnswersOf(RoundMemory& memory) {
  Answers answers;
  bool can_read_replicas = true;
  for (const Member& member : memory.members) {
    std::vector<v1alpha1::RankReady> ranks = memory.ready[member.worker().index()].ranks;
    std::sort(ranks.begin(), ranks.end(),
              [](const auto& a, const auto& b) { return a.local_rank() < b.local_rank(); });
    for (v1alpha1::RankReady& rank : ranks) {
      if (answers.positions.empty()) answers.endpoint = rank.endpoint();
      answers.can_test = answers.can_test && rank.tests_links();
      can_read_replicas = can_read_replicas && rank.reads_replicas();
      if (memory.failure.fresh) ForgetState(*rank.mutable_position());
      answers.positions.push_back(std::move(*rank.mutable_position()));
    }
  }
  // All ranks plan together who sends what, so that all must know of replicas.
  if (!can_read_replicas) {
    for (v1alpha1::RankPosition& position : answers.positions) ForgetReplicas(position);
  }
  return answers;
}

void Go(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const Answers answers = AnswersOf(memory);
  const ResumeDecision resume = DecideResume(answers.positions, ResumeOptionsOf(draft));
  if (resume.holds()) return BreakRound(draft, BreakOf(resume));
  RecordFloor(draft, resume);
  v1alpha1::GoRound go;
  go.set_endpoint(answers.endpoint);
  *go.mutable_round() = ToProto(memory.id);
  *go.mutable_resume() = resume.point;
  const v1alpha1::Mesh mesh = planner::LayOutRanks(memory.spec->trainer().parallelism(),
                                                   static_cast<int>(answers.positions.size()));
  if (static_cast<int>(answers.positions.size()) != mesh.data()) *go.mutable_mesh() = mesh;
  OrderLinkTest(draft, answers.can_test, go);
  memory.go = std::make_shared<const v1alpha1::GoRound>(std::move(go));
  NoteDonors(memory);
  if (memory.failure.fresh) memory.failure.restart_job = false;
  memory.joined.clear();
  MoveRound(draft, RoundEvent::kAllReady);
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (IsAttached(worker)) SendGo(draft, *worker);
  }
  draft.SetReason(Reason::kJoiningRound, resume.sentence);
}

void CollectJoined(Draft& draft) {
  RoundMemory& memory = draft.memory();
  for (const Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr) continue;
    const auto& joined = worker->agent->joined;
    const bool answered = joined && joined->round == memory.id && joined->error.empty() &&
                          joined->trajectory == memory.trajectory;
    if (answered || (worker->agent->attached && worker->agent->active == memory.id)) {
      memory.joined.insert(worker->index);
    }
  }
}

// Orders sent on a stream that has since been replaced may be lost.
void SendAgain(Draft& draft) {
  RoundMemory& memory = draft.memory();
  for (size_t i = 0; i < memory.members.size(); ++i) {
    const Worker* worker = WorkerOf(draft, memory.members[i]);
    if (!IsAttached(worker)) continue;
    if (memory.sent_session[worker->index] == worker->agent->session) continue;
    if (memory.phase == RoundPhase::kPreparing && memory.ready.count(worker->index) == 0) {
      SendPrepare(draft, *worker, i);
    }
    if (memory.phase == RoundPhase::kJoining && memory.joined.count(worker->index) == 0) {
      SendGo(draft, *worker);
    }
  }
}

// A worker that trains, or could, does not start in vain.
void ForgetRestarts(Draft& draft) {
  for (const Worker& worker : draft.workers) {
    const bool waits = IsWaitingSpare(draft, worker) && !CanTakeSeat(draft, worker);
    if (!waits) draft.memory().workers[worker.index].restarts = 0;
  }
}

void Advance(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const size_t members = memory.members.size();
  if (memory.phase == RoundPhase::kPreparing && memory.ready.size() == members) Go(draft);
  if (memory.phase == RoundPhase::kJoining && memory.joined.size() == members) {
    BecomeActive(draft, RoundEvent::kAllJoined, Reason::kRoundActive);
    EndLinkTest(draft);
  }
  SendAgain(draft);
  switch (memory.phase) {
    case RoundPhase::kPreparing:
      draft.RequeueAt(memory.phase_since + draft.options.prepare_deadline);
      break;
    case RoundPhase::kJoining:
      draft.RequeueAt(memory.phase_since + draft.options.join_deadline);
      break;
    case RoundPhase::kActive:
      if (MadeProgress(draft)) {
        memory.backoff.streak = 0;
        ForgetRestarts(draft);
      }
      // Time alone changes an Active round only while workers wait to join it.
      if (const absl::Time join = NextTimeToJoin(draft); join < absl::InfiniteFuture()) {
        draft.RequeueAt(join);
      }
      break;
    case RoundPhase::kIdle:
    case RoundPhase::kHolding:
      break;
  }
}

bool IsUnderWay(RoundPhase phase) {
  return phase != RoundPhase::kIdle && phase != RoundPhase::kHolding;
}

}  // namespace

void ForgetRound(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.id == RoundStamp{}) {
    memory.id = {draft.view.status.term(), draft.view.status.round()};
  }
  MoveRound(draft, RoundEvent::kReset);
  memory.members.clear();
  memory.holders.clear();
  memory.ready.clear();
  memory.joined.clear();
  memory.go.reset();
  memory.backoff.streak = 0;
  memory.stop.sent_session.clear();
  memory.failure.restart_job = memory.failure.fresh = false;
  memory.spec.reset();  // ranks started from here on open the sources of the spec as it is then
  memory.backoff.not_before = memory.backoff.retry_wall = absl::InfinitePast();
  memory.broken_reason.reset();
  memory.resize = {};
  memory.swap = {};
}

void DriveRounds(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.phase_since == absl::InfinitePast()) memory.phase_since = draft.view.now;
  const bool taking_over = draft.TakingOver();
  if (AdoptOrWait(draft)) return;
  // The members of an adopted round, and what leaves with them, are known only now.
  if (taking_over) SaveBeforeMembersChange(draft);
  if (memory.phase == RoundPhase::kPreparing) CollectReady(draft);
  if (memory.phase == RoundPhase::kJoining) CollectJoined(draft);
  if (IsUnderWay(memory.phase)) {
    if (const auto why = FindBreak(draft)) BreakRound(draft, *why);
  }
  if (IsUnderWay(memory.phase)) {
    Advance(draft);
  }
  if (memory.phase == RoundPhase::kHolding) LeaveOut(draft, FindUnnamed(draft));
  if (memory.phase == RoundPhase::kHolding) StopLeftOut(draft);
  if (!IsUnderWay(memory.phase)) TryOpen(draft);
}

}  // namespace muster::control
