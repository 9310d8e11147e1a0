#ifndef MUSTER_TRAINER_COMMIT_TUNINGS_H_
#define MUSTER_TRAINER_COMMIT_TUNINGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// Changes to a run while it trains. The job has a list of them, which only grows. A run puts them
// into force in the list's order, at most one per step, each once all ranks know of it. Pure.

// One of the job's tunings.
struct Tuning {
  // The first step that it applies to. Until it is in force: the first one that it may apply to.
  int64_t step = 0;
  std::optional<double> learning_rate;  // the schedule's peak
  std::optional<double> clip_norm;      // 0: gradients are not clipped
  bool operator==(const Tuning&) const = default;
};

// The most tunings that a job's list or a run's state can hold.
inline constexpr size_t kMostTunings = 64;

// The values that tunings can change.
struct TunedValues {
  double learning_rate = 0.0;  // the schedule's peak
  double clip_norm = 0.0;
};

Tuning FromProto(const v1alpha1::Tuning& tuning);
v1alpha1::Tuning ToProto(const Tuning& tuning);

// Returns the values for a step: the spec's, changed by the tunings that are in force by then.
// `in_force` is in the order of steps.
TunedValues ValuesOf(TunedValues spec, std::span<const Tuning> in_force, int64_t step);

// Returns the tuning that may come into force at `step`, which is the job's first one that is not
// in force yet; nullopt if that one is meant for a later step. `in_force` is how many already are.
std::optional<Tuning> NextTuning(std::span<const Tuning> of_job, size_t in_force, int64_t step);

// Returns the first tunings in force, up to the one that the job's list does not have in its place.
// A checkpoint may come from an earlier job, whose tunings this job did not ask for.
std::vector<Tuning> KeptTunings(std::span<const Tuning> of_job, std::span<const Tuning> in_force);

// Returns a hash of what the tuning changes.
uint64_t HashOf(const Tuning& tuning);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_TUNINGS_H_
