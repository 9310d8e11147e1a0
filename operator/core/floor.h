#ifndef MUSTER_OPERATOR_CORE_FLOOR_H_
#define MUSTER_OPERATOR_CORE_FLOOR_H_

#include <string>

#include "operator/core/break.h"
#include "operator/core/draft.h"
#include "operator/core/resume.h"

// status.checkpoint as the floor below which a job never falls unnoticed: see resume.h. It is moved
// back only here, in the write that goes ahead of the round's Go, so that whoever leads next
// decides alike. Its attempt is that of the branch which stands on it: the attempt that saved it,
// or the first that goes on from it. A save of an earlier attempt is of a branch that was given up.
namespace muster::control {

// The job has a trainer that saves its state.
bool SavesState(const v1alpha1::TrainingJobSpec& spec);

// The id of the history that begins if round `id` of the job starts from initial weights.
std::string NewHistory(const std::string& job_uid, RoundStamp id);

// What the decision on the round in memory rests on besides the ranks' positions.
ResumeOptions ResumeOptionsOf(const Draft& draft);

// The round is to go on as `decision` says: status.checkpoint follows, and people are told.
void RecordFloor(Draft& draft, const ResumeDecision& decision);

// Why the round does not go on.
Break BreakOf(const ResumeDecision& held);

// The newest round was broken to ask the job's owner.
bool IsHeld(const RoundMemory& memory);
// What the owner says about it: the next round need not wait once that has changed.
std::string OwnersWord(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FLOOR_H_
