#ifndef MUSTER_OPERATOR_CORE_STATE_CONDITIONS_H_
#define MUSTER_OPERATOR_CORE_STATE_CONDITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The closed lists of what a job's status can say: condition types, reasons and states.
// docs/states.md explains each one, and a test fails when the document and these lists differ.
namespace muster::control {

enum class ConditionType {
  kAdmitted,
  kScheduled,
  kRunning,
  kCheckpointed,
  kDegraded,
  kSuspended,
  kPreempted,
  kAlertFiring,
  kSucceeded,
  kFailed,
};

enum class Reason {
  // Admitted
  kAccepted,
  kSpecChangeRefused,
  kInvalidSpec,
  kStatusNotStored,
  // Scheduled
  kPodsBound,
  kWaitingForPods,
  kUnschedulable,
  kQueued,
  // Running
  kRoundActive,
  kRoundAdopted,
  kWaitingForWorkers,
  kPodNotStarting,
  kPreparingRound,
  kJoiningRound,
  kRankFailed,
  kRankStalled,
  kWorkerLost,
  kWorkerMissedDeadline,
  kJoinFailed,
  kStatesDiffer,
  kMembershipChanged,
  kSpecChanged,
  kNodeGoesAway,
  kLeavesNode,
  kSlowWorker,
  kSlowLink,
  kNoticeKept,
  kNoticeMissed,
  kNoticeWithdrawn,
  kEndUnconfirmed,
  kJobRestarting,
  kCheckpointHidden,
  kCheckpointLost,
  kCheckpointMismatch,
  kCheckpointUnlistable,
  kLastStepNotSaved,
  kBackingOff,
  kUnknownAfterTakeOver,
  kStopping,
  // Checkpointed
  kCheckpointWritten,
  kCheckpointFailed,
  kNoCheckpointYet,
  kCheckpointGivenUp,
  kCheckpointAdopted,
  kSaveRequested,
  // Degraded
  kFewerWorkers,
  kGaveUpWorkers,
  kAllWorkers,
  // Suspended
  kSuspendRequested,
  kWorkersStopped,
  kStepsNotSaved,
  kResumed,
  // Preempted
  kReclaimed,
  kPriority,
  kDefragmented,
  kBacklog,
  kRunsAgain,
  // The growth of a job beyond workers.count, and its spares, which write no condition
  kFreeCapacity,
  kYielded,
  kGrowthEnded,
  kUnderused,
  kSwapped,
  // Reports of ranks about a run while it trains, which write no condition
  kTuned,
  kSpike,
  // AlertFiring
  kLossNotFalling,
  kLossSpike,
  kThroughputDrop,
  kStalled,
  kNoAlert,
  kAlertResolved,
  kSuspendedByAlert,
  // Succeeded, Failed
  kTrainingFinished,
  kTooManyFailures,
  kIdenticalFailures,
  kFailedByRule,
  kBadInput,
  kTooManySkippedSteps,
  kDeadlineExceeded,
  // Plans that write no condition
  kNothingToDo,
  kDeleting,
  kExpired,
  kStaleLeader,
  kManagedByAnother,
};

enum class JobState {
  kPending,
  kStarting,
  kTraining,
  kRecovering,
  kSuspended,
  kSucceeded,
  kFailed,
  kQueued,
};

absl::string_view Name(ConditionType type);
absl::string_view Name(Reason reason);
absl::string_view Name(JobState state);

std::vector<ConditionType> AllConditionTypes();
std::vector<Reason> AllReasons();
std::vector<JobState> AllJobStates();

// Convert to and from the format of times in the status: RFC 3339 in UTC with milliseconds.
std::string FormatWall(absl::Time time);
absl::Time ParseWall(absl::string_view text);  // InfinitePast if `text` is no time

const v1alpha1::Condition* FindCondition(const v1alpha1::TrainingJobStatus& status,
                                         ConditionType type);
bool IsTrue(const v1alpha1::TrainingJobStatus& status, ConditionType type);

// Returns true while the workers are being stopped for a suspension, even if that was withdrawn
// since.
bool IsBeingSuspended(const v1alpha1::TrainingJobStatus& status);

// Sets or adds a condition. Its last_transition_time moves only when its status does. `message` is
// cut to 1 KiB. A second call with equal arguments leaves the status unchanged, byte for byte.
void SetCondition(v1alpha1::TrainingJobStatus& status, ConditionType type, bool value,
                  Reason reason, absl::string_view message, absl::Time wall, int64_t generation);

// Returns true if Succeeded or Failed is True: nothing of the job runs again.
bool IsFinished(const v1alpha1::TrainingJobStatus& status);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_CONDITIONS_H_
