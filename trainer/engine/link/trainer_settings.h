#ifndef MUSTER_TRAINER_ENGINE_LINK_TRAINER_SETTINGS_H_
#define MUSTER_TRAINER_ENGINE_LINK_TRAINER_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "trainer/commit/tunings.h"

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
  bool copies = false;           // the state is copied in memory
  int64_t copy_every_steps = 0;  // from one copy to the next; 0: as CopyPace chooses
  int64_t copies_room = 0;       // bytes of memory that this rank has for its copies
  bool keeps_replicas = false;   // as many bytes are set apart for replicas of other ranks' copies
  int64_t compare_every = 0;     // steps after which ranks compare their states; 0: never
  std::vector<Tuning> tunings;   // of the job, in force or not
  std::string event_directory;   // of event files of TensorBoard; empty: none are written
  // A rank that does not see the mark of another one after this long has another directory. NFS
  // clients by default look anew for a missing file after 30 to 60 seconds.
  absl::Duration mark_seen_within = absl::Seconds(70);
  // Ranks that stop after their round wait for the shards that others save for so long: less than
  // the time that an agent gives a stop with a checkpoint.
  absl::Duration shards_saved_within = absl::Seconds(45);
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_TRAINER_SETTINGS_H_
