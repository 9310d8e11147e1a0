#ifndef MUSTER_OPERATOR_QUEUE_BOOK_DECISION_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_DECISION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/placement/placement.h"

namespace muster::control {

enum class ScheduleAction {
  kStart,   // bind all of placement.nodes
  kWait,    // nothing to do; the reason says why
  kShrink,  // an elastic job: the workers from index `workers` on go away
  kStop,    // a whole gang: save, stop, wait again
  kGrow,    // a job that may be larger; placement.nodes has all its workers
};
absl::string_view Name(ScheduleAction action);

// The closed list of reasons.
enum class ScheduleReason {
  // kStart
  kWithinQuota,
  kBorrowing,   // takes the queue beyond its nominal quota
  kBackfilled,  // ahead of a job that cannot start yet, without delaying it
  // kWait
  kNoSuchQueue,    // it does not exist, or its parents form a cycle
  kQueueIsCohort,  // other queues name it as their parent
  kQueueStopped,
  kInvalidRequest,  // refused by Place as such
  kExceedsQuota,    // more than the queue may ever have
  kNamespaceLimit,
  kQuotaExhausted,
  kNoNodeBigEnough,
  kInsufficient,
  kTopology,
  kHeldByReservation,  // would delay a job that is ahead of it
  kWaitingForVictims,  // workers that were told to go still hold their nodes
  kBehind,             // not looked at: others are ahead and cannot start
  // kStop, kShrink
  kReclaimed,     // nominal quota is taken back from a borrower
  kPriority,      // for a job of a higher priority in the same queue
  kDefragmented,  // moved so that a large job fits
  // kGrow
  kRoomAgain,
  // kWait. These come last, so that older records keep their meaning.
  kConstraints,  // rules about other pods keep the gang out
  kFitsNowhere,  // too large for the cluster even when empty; it delays no other job
  // kGrow, kShrink: beyond the size that it asks for, and back
  kFreeCapacity,
  kYielded,
  // kWait
  kSpotLimit,
  kNamespaceNotAdmitted,  // the queue is not for jobs of its namespace
  // kShrink
  kBacklog,  // for a job of the same queue that has waited for QueueSpec::shrink_after
};
inline constexpr ScheduleReason kLastScheduleReason = ScheduleReason::kBacklog;
absl::string_view Name(ScheduleReason reason);

// ReasonOf converts Place's reasons to these. PlaceReasonOf converts back, and returns nullopt for
// other reasons.
ScheduleReason ReasonOf(UnplaceableReason reason);
// Finds the reason by its name; kConstraints for a name that is not Place's.
ScheduleReason ReasonOfName(absl::string_view place_reason);
std::optional<UnplaceableReason> PlaceReasonOf(ScheduleReason reason);

// The numbers of the sentence; the reason decides which of them count.
struct ScheduleNumbers {
  std::string queue;
  std::string resource;   // the one that is short
  int64_t needed = 0;     // of `resource`
  int64_t available = 0;  // of `resource`, now
  int64_t limit = 0;      // the most there could be
  int64_t position = 0;   // kBehind: place in its queue, from 1; 0: not counted
  // The latest start, given that others end when they say; InfiniteFuture: unknown.
  absl::Time expected_start = absl::InfiniteFuture();
  std::string blocked_by;  // UID of the job that is ahead
  // kStop and kShrink, for the whole set of victims: GPU-seconds lost, and a lower bound of what
  // any set costs. kDefragmented: the cost of the move.
  double cost = 0;
  double cost_bound = 0;
  double gain = 0;  // kDefragmented: GPU-seconds of waiting saved
};

struct Decision {
  ScheduleAction action = ScheduleAction::kWait;
  ScheduleReason reason = ScheduleReason::kBehind;
  std::string job;  // UID
  int workers = 0;  // afterwards; kWaitingForVictims: those that room is made for
  Placement placement;
  std::string for_job;  // kStop, kShrink: UID of the newcomer
  ScheduleNumbers numbers;
  std::string detail;  // why Place refused, and who is protected from preemption
  int nearest_feasible_size = 0;
};

// One human sentence with the numbers.
std::string Sentence(const Decision& decision, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_DECISION_H_
