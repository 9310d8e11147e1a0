#ifndef MUSTER_OPERATOR_QUEUE_DECISION_H_
#define MUSTER_OPERATOR_QUEUE_DECISION_H_

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
  kGrow,    // an elastic job that had been shrunk: placement.nodes are all its workers' then
};
absl::string_view ScheduleActionName(ScheduleAction action);

// The closed list of reasons.
enum class ScheduleReason {
  // kStart
  kWithinQuota,
  kBorrowing,   // takes the queue beyond its nominal quota
  kBackfilled,  // ahead of a job that cannot start yet, without delaying it
  // kWait
  kNoSuchQueue,    // nobody made it, or its parents form a circle
  kQueueIsCohort,  // other queues name it as their parent
  kQueueStopped,
  kInvalidRequest,  // as Place says
  kExceedsQuota,    // more than the queue may ever have
  kNamespaceLimit,
  kQuotaExhausted,
  kNoNodeBigEnough,
  kInsufficient,
  kTopology,
  kHeldByReservation,  // would delay a job that is ahead of it
  kWaitingForVictims,  // what was told to go has not gone yet
  kBehind,             // not looked at: others are ahead and cannot start
  // kStop, kShrink
  kReclaimed,     // nominal quota is taken back from a borrower
  kPriority,      // for a job of a higher priority in the same queue
  kDefragmented,  // moved so that a large job fits
  // kGrow
  kRoomAgain,
  // kWait; the last, so that what was recorded before them is read as it was meant
  kConstraints,  // the gang's pods, or others', are in each other's way
  kFitsNowhere,  // the cluster is too small for it, whoever ends; it holds up nobody
};
absl::string_view ScheduleReasonName(ScheduleReason reason);

// What Place says, among the reasons here; and back: nothing for reasons that are not Place's.
ScheduleReason ReasonOf(UnplaceableReason reason);
// By its name; kConstraints for one that is not Place's.
ScheduleReason ReasonOfName(absl::string_view place_reason);
std::optional<UnplaceableReason> PlaceReasonOf(ScheduleReason reason);

// The numbers of the sentence; which ones count depends on the reason.
struct ScheduleNumbers {
  std::string queue;
  std::string resource;   // the one that is short
  int64_t needed = 0;     // of it
  int64_t available = 0;  // of it, now
  int64_t limit = 0;      // the most there could be
  int64_t position = 0;   // of kBehind: in its queue, from 1; 0: not counted
  // When it starts at the latest, given that others end when they say; InfiniteFuture: unknown.
  absl::Time expected_start = absl::InfiniteFuture();
  std::string blocked_by;  // UID of the job that is ahead
  // Of kStop and kShrink, for the whole set: GPU-seconds lost, and a bound below which no set of
  // victims costs. kDefragmented: what the move costs.
  double cost = 0;
  double cost_bound = 0;
  double gain = 0;  // of kDefragmented: GPU-seconds that the newcomer does not wait
};

struct Decision {
  ScheduleAction action = ScheduleAction::kWait;
  ScheduleReason reason = ScheduleReason::kBehind;
  std::string job;  // UID
  int workers = 0;  // afterwards; of kWaitingForVictims: those that room is made for
  Placement placement;
  std::string for_job;  // kStop, kShrink: UID of the newcomer
  ScheduleNumbers numbers;
  std::string detail;  // what Place said, if it refused
  int nearest_feasible_size = 0;
};

// One human sentence with the numbers.
std::string Sentence(const Decision& decision, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_DECISION_H_
