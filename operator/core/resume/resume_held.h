#ifndef MUSTER_OPERATOR_CORE_RESUME_RESUME_HELD_H_
#define MUSTER_OPERATOR_CORE_RESUME_RESUME_HELD_H_

#include <cstdint>
#include <string>

#include "operator/core/resume/live_versions.h"
#include "operator/core/resume/resume.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// The parts of DecideResume() that go on from what ranks hold: their live state, or their copies in
// memory. They leave next_attempt and the point's reason to it. Pure.
namespace muster::control {

// Returns "1 step" or "7 steps".
std::string Steps(int64_t steps);

// Goes on from `target`, which is whole among the ranks that hold it or reach it by a decision.
ResumeDecision FromLive(Positions positions, const v1alpha1::Version& target,
                        const StepDecisions& decisions);

// Loads the copies of `target`, which with replicas cover it. `live` says why no live state serves.
ResumeDecision FromCopies(Positions positions, const v1alpha1::Version& target, const Floor& floor,
                          const UnusedLiveState& live);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_RESUME_HELD_H_
