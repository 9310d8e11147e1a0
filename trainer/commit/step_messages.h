#ifndef MUSTER_TRAINER_COMMIT_STEP_MESSAGES_H_
#define MUSTER_TRAINER_COMMIT_STEP_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// The messages of a step: the vote, and the confirmation of what the optimizers prepared. Pure.
//
// The vote's payload: one vector of doubles that is summed over all ranks by one all-reduce. Fast
// mode sends totals. Deterministic mode sends one number per logical micro-batch and per chunk,
// each filled by one rank and zero elsewhere (adding zeros changes no bit), and every rank sums
// them on the fixed tree.

struct VoteTotals {
  double sum_of_squares = 0.0;  // of the reduced gradients
  double loss_sum = 0.0;
  double valid_tokens = 0.0;
  double save_requests = 0.0;  // ranks that ask for a checkpoint after this step
  double stop_requests = 0.0;  // ranks that ask to stop after this step
  double copy_requests = 0.0;  // ranks that ask for a copy of the state in memory after this step
  double saves_due = 0.0;      // ranks whose interval from save to save, by time, is over
  double writing = 0.0;        // ranks that still write an earlier checkpoint
};

// One rank's part of the vote. Chunks are numbered over all units.
struct VoteContribution {
  v1alpha1::Version version;  // the one that the rank votes on
  uint64_t trajectory = 0;    // a hash of the spec it trains by
  int64_t first_micro_batch = 0;
  std::span<const double> losses;         // of this rank's micro-batches
  std::span<const double> valid_tokens;   // of this rank's micro-batches
  std::span<const int64_t> chunks;        // the chunks that this rank has to sum
  std::span<const double> chunk_squares;  // of these
  bool save = false;
  bool stop = false;
  bool copy = false;
  bool save_due = false;
  bool writing = false;
  // A hash of the tuning that may come into force after the step; absent: this rank knows of none.
  std::optional<uint64_t> tuning;
  int rank = 0;
  int ranks = 1;
  // The time since its last vote that this rank spent on computing or on waiting for data, not for
  // other ranks.
  double busy_seconds = 0.0;
  // The memory of this rank's device. All ranks set it or none: the vote is longer with it.
  std::optional<v1alpha1::DeviceMemory> device_memory;
};

std::vector<double> EncodeVote(const VoteContribution& share, bool deterministic,
                               int64_t micro_batches, int64_t chunks);
// Decodes the sum of all ranks' vectors.
VoteTotals DecodeVote(std::span<const double> sum, bool deterministic, int64_t micro_batches,
                      int64_t chunks);

// How long the ranks were busy before a vote, in seconds. Shows which rank made the others wait;
// does not affect the decision.
struct BusyTimes {
  double mean = 0.0;
  double longest = 0.0;
  int slowest = 0;  // the rank of `longest`
};
BusyTimes DecodeBusyTimes(std::span<const double> sum, int ranks);

// Decodes a vote in which the ranks set device_memory. Returns the memory of the fullest device,
// the one with the largest share reserved by its allocator, and the retries of all ranks added up.
// Does not affect the decision.
v1alpha1::DeviceMemory DecodeDeviceMemory(std::span<const double> sum, int ranks);

// Returns Internal, naming the versions, unless all `ranks` vote on `version`. The sum suffices:
// each rank's number and its square, summed, show exactly whether all numbers are equal.
absl::Status CheckVersions(std::span<const double> sum, const v1alpha1::Version& version,
                           int64_t ranks);

// Returns Internal unless all `ranks` train by the spec with this hash. Compares a residue of it:
// two different hashes look the same once in 65,536 times.
absl::Status CheckTrajectories(std::span<const double> sum, uint64_t trajectory, int64_t ranks);

// Returns true if all `ranks` know of the tuning with this hash. Compares a residue of it.
bool AllKnowTuning(std::span<const double> sum, uint64_t tuning, int64_t ranks);

// The payload by which ranks confirm an update that their optimizers prepared together after the
// vote: the last message before the first write. One vector of doubles, summed over all ranks.
//
// `finite` is false if this rank's part of the update has an infinity or NaN.
std::vector<double> EncodeConfirm(const v1alpha1::StepDecision& voted, bool finite);

// Decodes the sum of all ranks' vectors: returns true if the update is finite on all `ranks`.
// Internal unless all of them prepared the update that this rank voted on. Compares residues of 16
// bits.
absl::StatusOr<bool> DecodeConfirm(std::span<const double> sum, const v1alpha1::StepDecision& voted,
                                   int64_t ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_STEP_MESSAGES_H_
