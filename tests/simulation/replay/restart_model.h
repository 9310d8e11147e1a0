#ifndef MUSTER_TESTS_SIMULATION_REPLAY_RESTART_MODEL_H_
#define MUSTER_TESTS_SIMULATION_REPLAY_RESTART_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/replay/spot_shape.h"

namespace muster::control {

// The times of a run that all systems share.
struct ReplayTimes {
  absl::Duration start;          // of a worker: pod, process, libraries
  absl::Duration load;           // all workers load a checkpoint
  absl::Duration join;           // a new round connects and sends the state to new workers
  absl::Duration notice_loss;    // until the others notice that a machine is gone
  absl::Duration save;           // until a checkpoint is durable; training goes on meanwhile
  int64_t save_every = 1;        // steps
  absl::Duration work_per_step;  // of one worker; w workers take 1/w of it
};

// A system that restarts all workers from the newest durable checkpoint whenever its workers
// change.
struct RestartModel {
  int least = 1;      // runs with no fewer workers
  bool grows = true;  // restarts to take up machines that come back, else only if it has too few
};

// Returns the steps that are committed at the end. A restart takes notice_loss if a machine was
// lost, then start and load.
int64_t StepsOf(const RestartModel& model, const ReplayTimes& times, const SpotShape& shape,
                const std::vector<SpotEvent>& events, absl::Duration length);

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_REPLAY_RESTART_MODEL_H_
