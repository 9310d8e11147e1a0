#ifndef MUSTER_OPERATOR_CORE_RESUME_HELD_SLICES_H_
#define MUSTER_OPERATOR_CORE_RESUME_HELD_SLICES_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "operator/core/state/draft.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::control {

// Returns the layout of the recorded round; without a round, that of one rank.
v1alpha1::Mesh LayoutOfRound(const Draft& draft);

// Returns the slices that a member of a round of that layout holds.
std::vector<v1alpha1::StateSlice> SlicesOf(const v1alpha1::Member& member,
                                           const v1alpha1::Mesh& mesh);

// Returns true if those members of the recorded round that stay hold every part of the state
// between them. A command's state is not known: false.
bool HoldEverySlice(const Draft& draft, absl::FunctionRef<bool(const v1alpha1::Member&)> stays);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_RESUME_HELD_SLICES_H_
