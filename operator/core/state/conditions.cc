#include "operator/core/state/conditions.h"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

constexpr size_t kMaxMessage = 1024;

template <typename Enum, size_t N>
using Table = std::array<std::pair<Enum, const char*>, N>;

constexpr Table<ConditionType, 10> kConditionTypes = {{
    {ConditionType::kAdmitted, "Admitted"},
    {ConditionType::kScheduled, "Scheduled"},
    {ConditionType::kRunning, "Running"},
    {ConditionType::kCheckpointed, "Checkpointed"},
    {ConditionType::kDegraded, "Degraded"},
    {ConditionType::kSuspended, "Suspended"},
    {ConditionType::kPreempted, "Preempted"},
    {ConditionType::kAlertFiring, "AlertFiring"},
    {ConditionType::kSucceeded, "Succeeded"},
    {ConditionType::kFailed, "Failed"},
}};

constexpr Table<Reason, 83> kReasons = {{
    {Reason::kAccepted, "Accepted"},
    {Reason::kSpecChangeRefused, "SpecChangeRefused"},
    {Reason::kInvalidSpec, "InvalidSpec"},
    {Reason::kStatusNotStored, "StatusNotStored"},
    {Reason::kPodsBound, "PodsBound"},
    {Reason::kWaitingForPods, "WaitingForPods"},
    {Reason::kUnschedulable, "Unschedulable"},
    {Reason::kQueued, "Queued"},
    {Reason::kRoundActive, "RoundActive"},
    {Reason::kRoundAdopted, "RoundAdopted"},
    {Reason::kWaitingForWorkers, "WaitingForWorkers"},
    {Reason::kPodNotStarting, "PodNotStarting"},
    {Reason::kPreparingRound, "PreparingRound"},
    {Reason::kJoiningRound, "JoiningRound"},
    {Reason::kRankFailed, "RankFailed"},
    {Reason::kRankStalled, "RankStalled"},
    {Reason::kWorkerLost, "WorkerLost"},
    {Reason::kWorkerMissedDeadline, "WorkerMissedDeadline"},
    {Reason::kJoinFailed, "JoinFailed"},
    {Reason::kStatesDiffer, "StatesDiffer"},
    {Reason::kMembershipChanged, "MembershipChanged"},
    {Reason::kSpecChanged, "SpecChanged"},
    {Reason::kNodeGoesAway, "NodeGoesAway"},
    {Reason::kLeavesNode, "LeavesNode"},
    {Reason::kSlowWorker, "SlowWorker"},
    {Reason::kSlowLink, "SlowLink"},
    {Reason::kNoticeKept, "NoticeKept"},
    {Reason::kNoticeMissed, "NoticeMissed"},
    {Reason::kNoticeWithdrawn, "NoticeWithdrawn"},
    {Reason::kEndUnconfirmed, "EndUnconfirmed"},
    {Reason::kJobRestarting, "JobRestarting"},
    {Reason::kCheckpointHidden, "CheckpointHidden"},
    {Reason::kCheckpointLost, "CheckpointLost"},
    {Reason::kCheckpointMismatch, "CheckpointMismatch"},
    {Reason::kCheckpointUnlistable, "CheckpointUnlistable"},
    {Reason::kLastStepNotSaved, "LastStepNotSaved"},
    {Reason::kBackingOff, "BackingOff"},
    {Reason::kUnknownAfterTakeOver, "UnknownAfterTakeOver"},
    {Reason::kStopping, "Stopping"},
    {Reason::kCheckpointWritten, "CheckpointWritten"},
    {Reason::kCheckpointFailed, "CheckpointFailed"},
    {Reason::kNoCheckpointYet, "NoCheckpointYet"},
    {Reason::kCheckpointGivenUp, "CheckpointGivenUp"},
    {Reason::kCheckpointAdopted, "CheckpointAdopted"},
    {Reason::kSaveRequested, "SaveRequested"},
    {Reason::kFewerWorkers, "FewerWorkers"},
    {Reason::kGaveUpWorkers, "GaveUpWorkers"},
    {Reason::kAllWorkers, "AllWorkers"},
    {Reason::kSuspendRequested, "SuspendRequested"},
    {Reason::kWorkersStopped, "WorkersStopped"},
    {Reason::kStepsNotSaved, "StepsNotSaved"},
    {Reason::kResumed, "Resumed"},
    {Reason::kReclaimed, "Reclaimed"},
    {Reason::kPriority, "Priority"},
    {Reason::kDefragmented, "Defragmented"},
    {Reason::kBacklog, "Backlog"},
    {Reason::kRunsAgain, "RunsAgain"},
    {Reason::kFreeCapacity, "FreeCapacity"},
    {Reason::kYielded, "Yielded"},
    {Reason::kGrowthEnded, "GrowthEnded"},
    {Reason::kUnderused, "Underused"},
    {Reason::kSwapped, "Swapped"},
    {Reason::kTuned, "Tuned"},
    {Reason::kSpike, "Spike"},
    {Reason::kLossNotFalling, "LossNotFalling"},
    {Reason::kLossSpike, "LossSpike"},
    {Reason::kThroughputDrop, "ThroughputDrop"},
    {Reason::kStalled, "Stalled"},
    {Reason::kNoAlert, "NoAlert"},
    {Reason::kAlertResolved, "AlertResolved"},
    {Reason::kSuspendedByAlert, "SuspendedByAlert"},
    {Reason::kTrainingFinished, "TrainingFinished"},
    {Reason::kTooManyFailures, "TooManyFailures"},
    {Reason::kIdenticalFailures, "IdenticalFailures"},
    {Reason::kFailedByRule, "FailedByRule"},
    {Reason::kBadInput, "BadInput"},
    {Reason::kTooManySkippedSteps, "TooManySkippedSteps"},
    {Reason::kDeadlineExceeded, "DeadlineExceeded"},
    {Reason::kNothingToDo, "NothingToDo"},
    {Reason::kDeleting, "Deleting"},
    {Reason::kExpired, "Expired"},
    {Reason::kStaleLeader, "StaleLeader"},
    {Reason::kManagedByAnother, "ManagedByAnother"},
}};

constexpr Table<JobState, 8> kJobStates = {{
    {JobState::kPending, "Pending"},
    {JobState::kStarting, "Starting"},
    {JobState::kTraining, "Training"},
    {JobState::kRecovering, "Recovering"},
    {JobState::kSuspended, "Suspended"},
    {JobState::kSucceeded, "Succeeded"},
    {JobState::kFailed, "Failed"},
    {JobState::kQueued, "Queued"},
}};

template <typename Enum, size_t N>
absl::string_view Find(const Table<Enum, N>& table, Enum value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  return "";
}

template <typename Enum, size_t N>
std::vector<Enum> Keys(const Table<Enum, N>& table) {
  std::vector<Enum> keys;
  for (const auto& [entry, name] : table) keys.push_back(entry);
  return keys;
}

}  // namespace

absl::string_view Name(ConditionType type) { return Find(kConditionTypes, type); }
absl::string_view Name(Reason reason) { return Find(kReasons, reason); }
absl::string_view Name(JobState state) { return Find(kJobStates, state); }

std::vector<ConditionType> AllConditionTypes() { return Keys(kConditionTypes); }
std::vector<Reason> AllReasons() { return Keys(kReasons); }
std::vector<JobState> AllJobStates() { return Keys(kJobStates); }

std::string FormatWall(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

absl::Time ParseWall(absl::string_view text) {
  absl::Time time;
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, text, &time, &error) ? time : absl::InfinitePast();
}

const v1alpha1::Condition* FindCondition(const v1alpha1::TrainingJobStatus& status,
                                         ConditionType type) {
  const absl::string_view name = Name(type);
  for (const v1alpha1::Condition& condition : status.conditions()) {
    if (condition.type() == name) return &condition;
  }
  return nullptr;
}

bool IsBeingSuspended(const v1alpha1::TrainingJobStatus& status) {
  const v1alpha1::Condition* suspended = FindCondition(status, ConditionType::kSuspended);
  if (suspended == nullptr || suspended->status() == "True") return false;
  return suspended->reason() == Name(Reason::kSuspendRequested) ||
         suspended->reason() == Name(Reason::kStepsNotSaved);
}

bool IsTrue(const v1alpha1::TrainingJobStatus& status, ConditionType type) {
  const v1alpha1::Condition* condition = FindCondition(status, type);
  return condition != nullptr && condition->status() == "True";
}

void SetCondition(v1alpha1::TrainingJobStatus& status, ConditionType type, bool value,
                  Reason reason, absl::string_view message, absl::Time wall, int64_t generation) {
  v1alpha1::Condition* condition = const_cast<v1alpha1::Condition*>(FindCondition(status, type));
  if (condition == nullptr) {
    condition = status.add_conditions();
    condition->set_type(std::string(Name(type)));
  }
  const char* text = value ? "True" : "False";
  if (condition->status() != text) {
    condition->set_status(text);
    condition->set_last_transition_time(FormatWall(wall));
  }
  condition->set_reason(std::string(Name(reason)));
  condition->set_message(std::string(message.substr(0, kMaxMessage)));
  condition->set_observed_generation(generation);
}

bool IsFinished(const v1alpha1::TrainingJobStatus& status) {
  return IsTrue(status, ConditionType::kSucceeded) || IsTrue(status, ConditionType::kFailed);
}

}  // namespace muster::control
