#ifndef MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_
#define MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/core/resume/live_versions.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// The versions of which workers have copies in memory, as the positions of their ranks say. A copy
// has the same version as the state that it was taken of, so a rank whose weights are of that
// version serves as well as one that has a copy. A slice that no rank has may be in the replica of
// a lost worker's copy, which a rank of its keeper reads. Pure.
namespace muster::control {

// Says which copies belong to what the job trains: those of this history at or beyond its newest
// known checkpoint, and of its branch. A branch that was given up has only lower attempts.
struct CopiesWanted {
  std::string history;
  int64_t least_step = 0;
  int64_t least_attempt = 0;
};

// Returns the newest version of which copies, live state and replicas hold every part; nullopt if
// there is none that is wanted. Some rank has a copy of it: ranks remove the copies of a branch
// that was given up, and keepers may still have replicas of it.
std::optional<v1alpha1::Version> NewestCopied(Positions positions, const CopiesWanted& wanted);

// Returns the slice of `target` that the rank has, live or as a copy; nullopt if it has none.
std::optional<v1alpha1::StateSlice> SliceOf(const v1alpha1::RankPosition& position,
                                            const v1alpha1::Version& target);

// Returns where the slices of `target` come from that no rank has as SliceOf() says, each once,
// from the lowest rank that reads it: a replica, or the rank's own copy, if the rank came to
// another slice of the same version in a round that broke. Empty if the ranks' slices cover all.
std::vector<v1alpha1::ReplicaSource> ReplicasNeeded(Positions positions,
                                                    const v1alpha1::Version& target);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_MEMORY_COPIES_H_
