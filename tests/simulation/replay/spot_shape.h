#ifndef MUSTER_TESTS_SIMULATION_REPLAY_SPOT_SHAPE_H_
#define MUSTER_TESTS_SIMULATION_REPLAY_SPOT_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::control {

// How a spot market treats a job that would hold `slots` machines. Published traces are described
// by such numbers; histories are generated from them, because the traces themselves are not here.
struct SpotShape {
  std::string name;
  int slots = 8;
  double taken_per_hour = 0.1;  // of the machines that the job holds: a fraction
  int most_at_once = 1;         // machines are taken in bursts of 1 to so many, evenly
  absl::Duration back_after;    // mean time until a machine comes in the place of one: exponential
};

// A machine of a slot is taken from the job, or one comes.
struct SpotEvent {
  absl::Duration at;
  int slot = 0;
  bool taken = false;
};

// Returns the events of so long a time in order, from full availability. Equal seeds give equal
// events. A slot's events alternate.
std::vector<SpotEvent> Generate(const SpotShape& shape, absl::Duration length, uint64_t seed);

// Returns the time for which machines are held, summed over the slots.
absl::Duration Held(const SpotShape& shape, const std::vector<SpotEvent>& events,
                    absl::Duration length);

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_REPLAY_SPOT_SHAPE_H_
