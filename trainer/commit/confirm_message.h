#ifndef MUSTER_TRAINER_COMMIT_CONFIRM_MESSAGE_H_
#define MUSTER_TRAINER_COMMIT_CONFIRM_MESSAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// The payload by which ranks confirm an update that their optimizers prepared together after the
// vote: the last message before the first write. One vector of doubles, summed over all ranks.
// Pure.

// `finite` is false if this rank's part of the update has an infinity or NaN.
std::vector<double> EncodeConfirm(const v1alpha1::StepDecision& voted, bool finite);

// Decodes the sum of all ranks' vectors: returns true if the update is finite on all `ranks`.
// Internal unless all of them prepared the update that this rank voted on. Compares residues of 16
// bits.
absl::StatusOr<bool> DecodeConfirm(std::span<const double> sum, const v1alpha1::StepDecision& voted,
                                   int64_t ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_CONFIRM_MESSAGE_H_
