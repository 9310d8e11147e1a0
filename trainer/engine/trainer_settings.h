#ifndef MUSTER_TRAINER_ENGINE_TRAINER_SETTINGS_H_
#define MUSTER_TRAINER_ENGINE_TRAINER_SETTINGS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace muster::trainer {

// Decides when a rank validates, saves and ends. Equal on all ranks of a round, except local_rank.
struct TrainerSettings {
  int local_rank = 0;
  int64_t steps = 0;
  int validate_every = 0;  // steps; 0: never
  int validate_batches = 0;
  // No more than one of these two is set.
  int64_t save_every_steps = 0;
  absl::Duration save_every = absl::ZeroDuration();
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TRAINER_SETTINGS_H_
