#ifndef MUSTER_TRAINER_COMMIT_TUNINGS_H_
#define MUSTER_TRAINER_COMMIT_TUNINGS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

// Changes of a run while it trains. The job has a list of them, which only grows. A run puts them
// into force one after the other, at most one a step, once all ranks know of it. Pure.

// One of the job's tunings.
struct Tuning {
  // The first step that has it. Before it is in force: the first one that may have it.
  int64_t step = 0;
  std::optional<double> learning_rate;  // the peak
  std::optional<double> clip_norm;      // 0: never
  bool operator==(const Tuning&) const = default;
};

// A job's list has no more, and neither has a run's state.
inline constexpr size_t kMostTunings = 64;

// What a run trains by.
struct TunedValues {
  double learning_rate = 0.0;  // the peak
  double clip_norm = 0.0;
};

Tuning FromProto(const v1alpha1::Tuning& tuning);
v1alpha1::Tuning ToProto(const Tuning& tuning);

// Returns the values of a step: those of the spec, as changed by the tunings in force up to it.
// `in_force` is in the order of steps.
TunedValues ValuesOf(TunedValues spec, std::span<const Tuning> in_force, int64_t step);

// Returns the tuning that may come into force for `step`: the job's first one that is not in force,
// if it is not meant for a later step.
std::optional<Tuning> NextTuning(std::span<const Tuning> of_job, size_t in_force, int64_t step);

// Returns a hash of what the tuning changes.
uint64_t HashOf(const Tuning& tuning);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_TUNINGS_H_
