#ifndef MUSTER_OPERATOR_CORE_RESUME_FLOOR_H_
#define MUSTER_OPERATOR_CORE_RESUME_FLOOR_H_

#include <string>

#include "operator/core/resume/resume.h"
#include "operator/core/state/break.h"
#include "operator/core/state/draft.h"

// The floor, status.checkpoint, below which a job never falls unnoticed: see resume.h. It is moved
// back only here, in the write that goes ahead of the round's Go, so that the next leader decides
// alike. Its attempt is that of the branch which builds on it: the attempt that saved it, or the
// first that resumed from it. A save of an earlier attempt belongs to a branch that was given up.
namespace muster::control {

// Returns true if the job has a trainer that saves its state.
bool SavesState(const v1alpha1::TrainingJobSpec& spec);

// Returns the directory of a checkpoint for status.checkpoint.uri, from its name below
// spec.checkpoint.uri, or from an absolute path.
std::string CheckpointPath(const v1alpha1::TrainingJobSpec& spec, const std::string& directory);

// Returns the id of the history that begins if round `id` of the job starts from initial weights.
std::string NewHistory(const std::string& job_uid, RoundStamp id);

// Returns what DecideResume() needs for the round in memory besides the ranks' positions.
ResumeOptions ResumeOptionsOf(const Draft& draft);

// Carries out `decision` for a round that goes on: moves status.checkpoint, and emits the events.
void RecordFloor(Draft& draft, const ResumeDecision& decision);

// Returns the reason why the round does not go on; held.holds() must be true.
Break BreakOf(const ResumeDecision& held);

// Returns true if the newest round was broken in order to ask the job's owner.
bool IsHeld(const RoundMemory& memory);
// Returns the owner's decision about the floor, as the spec has it; once it changes, the next round
// need not wait.
std::string OwnerDecision(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_FLOOR_H_
