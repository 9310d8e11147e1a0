#ifndef MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_
#define MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/core/resume/live_versions.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// Derives from the ranks' positions which versions the workers have as copies in memory. A copy has
// the version of the state that it was taken from, so a rank whose weights are of that version
// serves as well as one with a copy. A slice that no rank has may be in the replica of a lost
// worker's copy, which a rank of its keeper reads. Pure.
namespace muster::control {

// Selects the copies that the job may resume from: those of this history and of its current branch,
// at or beyond its newest known checkpoint. A branch that was given up has only lower attempts.
struct CopiesWanted {
  std::string history;
  int64_t least_step = 0;
  int64_t least_attempt = 0;
};

// Returns the newest wanted version that copies, live state and replicas together cover completely,
// or nullopt. At least one rank has a copy of that version: ranks delete the copies of a branch
// that was given up, while keepers may still have replicas of it.
std::optional<v1alpha1::Version> NewestCopied(Positions positions, const CopiesWanted& wanted);

// Returns the slice of `target` that the rank has, live or as a copy, or nullopt.
std::optional<v1alpha1::StateSlice> SliceOf(const v1alpha1::RankPosition& position,
                                            const v1alpha1::Version& target);

// Returns the sources of the slices of `target` that no rank has by SliceOf(), each once, with the
// lowest rank that can read it: from a replica, or from the rank's own copy if the rank came to
// another slice of the same version in a round that broke. Empty if the ranks' slices cover all.
std::vector<v1alpha1::ReplicaSource> ReplicasNeeded(Positions positions,
                                                    const v1alpha1::Version& target);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_
