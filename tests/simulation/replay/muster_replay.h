#ifndef MUSTER_TESTS_SIMULATION_REPLAY_MUSTER_REPLAY_H_
#define MUSTER_TESTS_SIMULATION_REPLAY_MUSTER_REPLAY_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/replay/restart_model.h"
#include "tests/simulation/replay/spot_shape.h"

namespace muster::control {

struct MusterReplay {
  int64_t steps = 0;   // committed at the end
  int64_t rounds = 0;  // that were opened
};

// Replays the events with the real operator over simulated machines, agents and ranks, on virtual
// time: an elastic job with one worker on each machine. `notice` is the time between the notice of
// a machine and its end; zero: none is given.
MusterReplay ReplayMuster(const ReplayTimes& times, const SpotShape& shape,
                          const std::vector<SpotEvent>& events, absl::Duration length,
                          absl::Duration notice);

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_REPLAY_MUSTER_REPLAY_H_
