#ifndef MUSTER_OPERATOR_CORE_STATE_ROUND_MEMORY_H_
#define MUSTER_OPERATOR_CORE_STATE_ROUND_MEMORY_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/alerts/job_alerts.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/cost_book.h"
#include "operator/core/state/leave_plan.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The memory that one leadership has of a job between two decisions. Nothing in it is durable: a
// new leader starts from RoundMemory{} and gets what it needs from the status (term, round,
// membership, incarnations, failures with their back-off: see failure_persistence.h, and notices:
// see spot.h) and from the agents, which send their state again when they attach.
namespace muster::control {

enum class RoundPhase {
  kIdle,  // no round of this leadership: before the first start, suspended, or after a take-over
  kPreparing,  // Prepare sent; waiting for WorkerReady of every member
  kJoining,    // Go sent; waiting for WorkerJoined of every member
  kActive,     // every member joined, or the round was adopted after a take-over
  kHolding,    // the round broke and the next one cannot be opened yet; survivors hold their state
};

// The notice that a worker's node goes away. Owned by spot.h and notice_outcome.h.
struct NoticeMemory {
  int incarnation = 0;      // the incarnation on that node; 0: no notice
  std::string source;       // what announced it and who takes the node, for people
  bool node_stays = false;  // only the worker is to leave it
  // The time at which the node goes, and the latest one at which the worker leaves, each by the
  // monotonic and by the wall clock. The status records the wall times.
  absl::Time deadline = absl::InfinitePast();
  absl::Time deadline_wall = absl::InfinitePast();
  absl::Time leave_at = absl::InfinitePast();
  absl::Time leave_wall = absl::InfinitePast();
  std::optional<LeavePlan> plan;  // absent until this leadership has made it
  int64_t checkpoint = -1;        // step of the newest checkpoint at the time of the notice
  bool told = false;              // its event has been emitted, by this leader or an earlier one
  bool save_requested = false;    // this leadership has asked for another checkpoint
  bool leaves = false;
  bool settled = false;  // its outcome is recorded
  // The newest round that was opened with the worker although it leaves.
  int64_t carried_round = 0;
};

// A worker that is to leave a node that stays. Owned by move.h.
struct MoveMemory {
  int incarnation = 0;  // the one that leaves; 0: none
  std::string why;
  std::string node;                               // which later incarnations avoid; empty: none
  absl::Time restored_at = absl::InfinitePast();  // from the pod, by a new leader
  // The worker's pods never go back to the node: the job is better off without the worker than with
  // it there.
  bool for_good = false;
};

// The pods of one worker index, as this leadership saw them.
struct WorkerMemory {
  // The incarnation that this leadership wrote to the status; 0 if none. Only its pod may be
  // created.
  int raised = 0;
  // The incarnation whose pod this leadership has created (this memory is only kept if the create
  // succeeded), and the one that it has seen exist: neither is created again. A created pod that is
  // not seen by `visible_by` was deleted at once.
  int created = 0;
  int seen = 0;
  absl::Time visible_by = absl::InfinitePast();
  // Replacements in a row without a committed step, and the earliest time of the next one.
  int restarts = 0;
  absl::Time not_before = absl::InfinitePast();
  // Excluded from the next round by failurePolicy Shrink, until a round is Active again.
  bool shrunk = false;
  MoveMemory move;
  // Named by a break, or by an exit that was reported after it; until a round is Active again.
  bool named = false;
  // Missed a phase's deadline and is to be replaced.
  bool needs_replacement = false;
  NoticeMemory notice;
  // The incarnation that was told to stop; status.workers.toldToStop has it, too.
  int told_to_stop = 0;
  // When this leadership first saw the pod Running, and the last pod whose failure was counted.
  absl::Time running_since = absl::InfinitePast();
  std::string counted_pod;
};

// The failure that is being handled. Owned by failure.h; failure_persistence.h restores it.
struct FailureMemory {
  // The newest round whose failure has been evaluated: one failure counts per round.
  int64_t evaluated_round = 0;
  // A rule asked for RestartJob, and its sentence; until every rank has answered in a fresh round.
  bool restart_job = false;
  std::string restart_sentence;
  bool fresh = false;  // the current round was opened to restart the job
  std::set<std::string> bad_checkpoints;
};

// The delay before the next round. Owned by backoff.h.
struct BackoffMemory {
  int streak = 0;  // broken rounds in a row without a committed step
  absl::Time not_before = absl::InfinitePast();
  absl::Time retry_wall = absl::InfinitePast();  // the same on the wall clock, as in the status
};

// The question put to the job's owner about a lost floor, and OwnerDecision() when the newest round
// was opened. Owned by rounds.h.
struct QuestionMemory {
  std::string asked;
  std::string owner_decision;
};

// The time since which the workers are being stopped, and the session on which each was told.
// Owned by stop_gang.h and finish.h.
struct StopMemory {
  std::optional<absl::Time> since;
  std::map<int, int64_t> sent_session;
};

// The wait for a checkpoint before workers leave with slices of the state: its end, and the step of
// the newest checkpoint when it began. Owned by hand_over.h.
struct HandOverMemory {
  std::optional<absl::Time> until;
  int64_t checkpoint = -1;
};

// The step of the newest checkpoint and the time at which it was saved, and the time of the newest
// order to save. Owned by save_interval.h.
struct SaveIntervalMemory {
  int64_t newest_step = -1;
  absl::Time saved_at = absl::InfinitePast();
  absl::Time ordered_at = absl::InfinitePast();
  // The ordered save keeps the job's turn until this time, or until it is known to have begun.
  absl::Time turn_until = absl::InfinitePast();
};

// The growth beyond workers.count. Owned by grow.h.
struct GrowthMemory {
  bool restored = false;  // status.elastic.snoozedUntil has been read
  absl::Time snoozed_until = absl::InfinitePast();
  // The time since which this leadership waits for granted workers; absent: all are there.
  std::optional<absl::Time> awaited_since;
};

// How long the use of a round's workers has been too low or high. Owned by low_utilisation.h.
struct UseMemory {
  int64_t round = 0;
  // The time since which the workers are used too little; absent: they are used enough.
  std::optional<absl::Time> low_since;
  // The time since which more workers than the job keeps would be used well; absent: they are not
  // expected to be.
  std::optional<absl::Time> high_since;
  // How often the job has given workers of workers.count back, and when it may want them again.
  int given_back = 0;
  absl::Time not_before = absl::InfinitePast();
  bool restored = false;  // the status was looked at for a pause of the last leader
};

// The last order to each worker about its replicas. Owned by replicas.h.
struct ReplicateMemory {
  RoundStamp round;
  int64_t session = 0;
  int peer = -1;  // a worker's index; -1: none
  std::string endpoint;
  bool operator==(const ReplicateMemory&) const = default;
};

// The last list of tunings that a worker was sent. Owned by tunings.h.
struct TuneMemory {
  RoundStamp round;
  int64_t session = 0;
  uint64_t list = 0;  // its hash
  bool operator==(const TuneMemory&) const = default;
};

// The last order to keep copies on disk. Owned by disk_copies.h.
struct DiskCopiesMemory {
  absl::Time ordered_at = absl::InfinitePast();
};

// The time before which no other straggler leaves. Owned by straggler.h.
struct StragglerMemory {
  absl::Time not_before = absl::InfinitePast();
};

// The newest test of the links between workers. Owned by slow_links.h.
struct LinkTestMemory {
  // (index, incarnation) of the members that were tested together last.
  std::set<std::pair<int, int>> tested;
  bool judged = false;                          // the newest test has been evaluated
  std::optional<std::pair<int, int>> excluded;  // (index, incarnation), by the newest test
  std::set<std::string> left_nodes;             // because of slow links
};

// The counted failures of this leadership within failurePolicy.window, oldest first. Owned by
// failing_node.h.
struct FailingNodeMemory {
  struct Failure {
    absl::Time at;
    std::string node;
  };
  std::string latest;  // the time of the newest failure in the status
  std::vector<Failure> failures;
};

// The last Active round: its number of workers, 0 if not known, and its end. Owned by
// round_phase.h.
struct ResizeMemory {
  int workers = 0;
  std::optional<absl::Time> ended;
};

// The network domains of the newest round's members, and whose ranks they took over. Owned by
// round_phase.h.
struct SwapMemory {
  // The network domains of the workers' nodes, by index, as of the newest round.
  std::map<int, std::vector<std::string>> domains;
  // The worker that had a member's ranks, by the member's index, until a round is Active.
  std::map<int, int> takes_over;
  // The number of seats in the recorded round, if a new leader has found only some of its members,
  // which keep their ranks; 0: all members are known.
  int places = 0;
};

// The ledger as it is now, and the data for filing the time since `filed_until`. Owned by ledger.h.
struct LedgerMemory {
  using RanksByUse = std::array<int, kTimeUses>;
  bool restored = false;  // status.ledger has been read
  v1alpha1::LedgerStatus book;
  absl::Time filed_until = absl::InfinitePast();
  RanksByUse ranks{};
  // The step reports that have been filed.
  int64_t steps_seen = 0;
  StepTimes times;
  // The unreported time that the newest decision filed under other uses.
  ReportedTime reported;
};

// The cost as it is now, and the data for filing the time since `filed_until`. Owned by cost.h.
struct CostMemory {
  bool restored = false;  // status.cost has been read
  v1alpha1::CostStatus book;
  UnreportedCost unreported;
  absl::Time filed_until = absl::InfinitePast();
  GangRates rates;
};

struct RoundMemory {
  RoundPhase phase = RoundPhase::kIdle;
  RoundStamp id;
  std::vector<v1alpha1::Member> members;  // of round `id`, by rank
  std::string membership;
  // The spec by which round `id` trains, and its digest (trajectory.h). A new leader has only the
  // digest.
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;
  std::string trajectory;
  absl::Time phase_since = absl::InfinitePast();

  // The ranks' positions by worker index, from kPreparing on; and the order of kJoining, kept to
  // send it again.
  std::map<int, ReadyReport> ready;
  std::shared_ptr<const v1alpha1::GoRound> go;
  std::set<int> joined;
  // The session on which each member's current order was sent, by worker index.
  std::map<int, int64_t> sent_session;

  // Set once status.failures (failure_persistence.h) and status.workers.leaving (spot.h) have been
  // read.
  bool failures_restored = false;
  bool notices_restored = false;
  FailureMemory failure;
  QuestionMemory question;
  // The last request for a checkpoint that was handled; absent until this leadership has looked.
  std::optional<std::string> save_request;
  BackoffMemory backoff;
  // The committed step at the time the round became Active.
  int64_t active_from_step = -1;
  // (index, incarnation) of the last Active round's members, which hold the newest state, with the
  // slices of it that each has.
  std::map<std::pair<int, int>, std::vector<v1alpha1::StateSlice>> holders;
  bool was_active = false;  // some round of this job has been Active
  // The newest round that was Active; reports of earlier rounds no longer matter.
  int64_t active_round = 0;
  // The reason why the last round broke, and a sentence about it, for the condition Running; absent
  // before any round broke.
  std::optional<Reason> broken_reason;
  std::string broken_sentence;

  StopMemory stop;
  HandOverMemory hand_over;
  SaveIntervalMemory save_interval;
  GrowthMemory growth;
  UseMemory use;
  StragglerMemory straggler;
  LinkTestMemory link_test;
  FailingNodeMemory failing_node;
  ResizeMemory resize;
  SwapMemory swap;
  std::map<int, ReplicateMemory> replicate;  // by worker index
  std::map<int, TuneMemory> tuned;           // by worker index
  DiskCopiesMemory disk_copies;
  LedgerMemory ledger;
  CostMemory cost;
  AlertMemory alerts;

  // The latest time at which a status that is held back is written; InfiniteFuture if it is not
  // held back. See status_write_policy.h.
  absl::Time write_by = absl::InfiniteFuture();

  std::map<int, WorkerMemory> workers;
};

// Returns null if nothing is remembered of the worker `index`.
inline const WorkerMemory* FindWorkerMemory(const RoundMemory& memory, int index) {
  const auto found = memory.workers.find(index);
  return found == memory.workers.end() ? nullptr : &found->second;
}

// Returns true if the worker is left out of the next round by failurePolicy Shrink.
inline bool IsShrunk(const RoundMemory& memory, int index) {
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return worker != nullptr && worker->shrunk;
}

// Returns true if the worker missed a phase's deadline and is to be replaced.
inline bool NeedsReplacement(const RoundMemory& memory, int index) {
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return worker != nullptr && worker->needs_replacement;
}

// Returns true if the worker leaves its node: spot.h.
inline bool IsToLeave(const RoundMemory& memory, int index, int incarnation) {
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return worker != nullptr && worker->notice.leaves && worker->notice.incarnation == incarnation;
}

// Returns true if the worker leaves before the round that is being formed has made a step:
// slow_links.h.
inline bool IsExcluded(const RoundMemory& memory, int index, int incarnation) {
  return memory.phase == RoundPhase::kJoining &&
         memory.link_test.excluded == std::pair(index, incarnation);
}

// Returns true if this leadership or an earlier one told the incarnation to stop: how it ends after
// that proves nothing.
inline bool WasToldToStop(const RoundMemory& memory, int index, int incarnation) {
  const WorkerMemory* worker = FindWorkerMemory(memory, index);
  return worker != nullptr && worker->told_to_stop == incarnation;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_ROUND_MEMORY_H_
