#ifndef MUSTER_OPERATOR_CORE_ROUND_MEMORY_H_
#define MUSTER_OPERATOR_CORE_ROUND_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "operator/core/view.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// What one leadership remembers of a job between two decisions. Nothing in it is durable: a new
// leader starts from RoundMemory{} and gets what it needs from the status (term, round, membership,
// incarnations, failures with their back-off: see recall.h, and notices: see spot.h) and from the
// agents, who re-send their state when they attach.
namespace muster::control {

enum class RoundPhase {
  kIdle,  // no round of this leadership: before the first start, suspended, or after a take-over
  kPreparing,  // Prepare sent; waiting for WorkerReady of every member
  kJoining,    // Go sent; waiting for WorkerJoined of every member
  kActive,     // every member joined, or the round was adopted after a take-over
  kHolding,    // the round broke and the next one cannot be opened yet; survivors hold their state
};

// One index's pods, as this leadership saw them.
struct WorkerMemory {
  // The incarnation whose number this leadership wrote; 0 none. Only such a pod may be created.
  int raised = 0;
  // The incarnation whose pod this leadership has created (this memory is only kept when the create
  // succeeded), or has seen exist: it is never created again. A created pod that is not seen by
  // `visible_by` was deleted at once.
  int created = 0;
  int seen = 0;
  absl::Time visible_by = absl::InfinitePast();
  // Replacements in a row without a committed step, and when the next may be made.
  int restarts = 0;
  absl::Time not_before = absl::InfinitePast();
  // Excluded from the next round by failurePolicy Shrink, until a round is Active again.
  bool shrunk = false;
  // A break named it, or what was heard of it after that; until a round is Active again.
  bool named = false;
  // Missed a phase's deadline: to be replaced.
  bool condemned = false;
  // See spot.h: the incarnation whose node goes away (0 none), when it leaves at the latest (also
  // as the status says it), the newest checkpoint then, whether this leadership has asked for
  // another, and whether it leaves now.
  int noticed = 0;
  absl::Time leave_at = absl::InfinitePast();
  absl::Time leave_wall = absl::InfinitePast();
  int64_t checkpoint_at_notice = -1;
  bool asked_to_save = false;
  bool leaving = false;
  // The incarnation that was told to stop: its end after that says nothing.
  int told_to_stop = 0;
  // Since when this leadership sees the pod Running, and the last pod whose failure was counted.
  absl::Time running_since = absl::InfinitePast();
  std::string counted_pod;
};

struct RoundMemory {
  RoundPhase phase = RoundPhase::kIdle;
  RoundStamp id;
  std::vector<v1alpha1::Member> members;  // by rank; of `id`
  std::string membership;
  // By what `id` trains, and its digest (trajectory.h); a new leader knows the digest alone.
  std::shared_ptr<const v1alpha1::TrainingJobSpec> spec;
  std::string trajectory;
  absl::Time phase_since = absl::InfinitePast();

  // kPreparing and later: positions by worker index. kJoining: the order, to send again.
  std::map<int, ReadyReport> ready;
  std::shared_ptr<const v1alpha1::GoRound> go;
  std::set<int> joined;
  // The session on which each member's current order was sent.
  std::map<int, int64_t> sent_session;

  // status.failures has been read: see recall.h; and status.workers.leaving: see spot.h.
  bool recalled = false;
  bool notices_recalled = false;
  // The newest round whose failure has been judged: one failure per round.
  int64_t failed_round = 0;
  // A rule said RestartJob, and why; until every rank has answered in a round that began afresh.
  bool restart_all = false;
  std::string restart_sentence;
  bool fresh = false;  // `id` was opened for that
  std::set<std::string> bad_checkpoints;
  // What the owner was asked about a floor that was lost, and what he had said about it when the
  // newest round was opened.
  std::string asked;
  std::string owners_word;
  // The request for a checkpoint that was dealt with last; absent: this leadership has not looked.
  std::optional<std::string> save_request;
  // Broken rounds in a row without a committed step, for the back-off.
  int streak = 0;
  absl::Time not_before = absl::InfinitePast();
  absl::Time retry_wall = absl::InfinitePast();  // the same, as people and the next leader read it
  // The committed step when the round became Active.
  int64_t active_from_step = -1;
  // (index, incarnation) of the last Active round's members: they hold the newest state.
  std::set<std::pair<int, int>> holders;
  bool was_active = false;  // some round of this job has been Active
  // The newest round that was; what is said of rounds before it no longer matters.
  int64_t active_round = 0;
  // Why the last round broke, for the Running condition: a Reason's name, and a sentence.
  std::string broken_reason;
  std::string broken_sentence;

  // Since when the workers are being stopped, and on which session each was told.
  std::optional<absl::Time> stopping_since;
  std::map<int, int64_t> stop_session;

  // When a status that was held back is written at the latest; never, when none is. See telling.h.
  absl::Time tell_by = absl::InfiniteFuture();

  std::map<int, WorkerMemory> workers;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ROUND_MEMORY_H_
