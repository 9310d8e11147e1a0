#ifndef MUSTER_TRAINER_COMMIT_HELD_PLACES_H_
#define MUSTER_TRAINER_COMMIT_HELD_PLACES_H_

#include <optional>
#include <span>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/parallel/slices.h"

namespace muster::trainer {

// A place as the operator names it.
CopyPlace ToPlace(const v1alpha1::StateSlice& slice);
v1alpha1::StateSlice ToSlice(const CopyPlace& place);

// Returns what each holder holds of the resume point's version; nullopt: nothing. The first holders
// are the ranks of the new round; those after them are the replicas that ranks read, in the order
// of ResumePoint.replicas. Pure.
std::vector<std::optional<CopyPlace>> HeldPlaces(const v1alpha1::ResumePoint& resume, int ranks);

// Returns which ranks come to hold wanted[rank] without anything from other ranks.
std::vector<bool> Witnesses(const v1alpha1::ResumePoint& resume, std::span<const CopyPlace> wanted);

// Returns the rank that has what that holder holds.
int RankOfHolder(const v1alpha1::ResumePoint& resume, int ranks, int holder);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_HELD_PLACES_H_
