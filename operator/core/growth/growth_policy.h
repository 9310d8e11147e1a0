#ifndef MUSTER_OPERATOR_CORE_GROWTH_GROWTH_POLICY_H_
#define MUSTER_OPERATOR_CORE_GROWTH_GROWTH_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// The policy by which a job with elastic.policy Grow wants more workers than it has. Whether there
// is capacity for them is the queue's to say. Pure.
namespace muster::control {

// The reason why the job has no more workers than it has.
enum class GrowthReason {
  kNoCapacity,      // it wants more; there is no capacity that no other job waits for
  kGrowing,         // its queue gave it more, and they do not train yet
  kAtMaximum,       // it has workers.max
  kNoLargerSize,    // no size up to workers.max that its layout allows shortens a step
  kNotAllWorkers,   // some of those that it has do not train
  kUnderused,       // it keeps fewer workers than workers.count, since more would be underused
  kTakenByQueue,    // its queue keeps it below workers.count
  kSnoozed,         // its size changed lately, or could not be changed
  kMeasuringSpeed,  // the time of a step is not known yet
  kGainTooSmall,    // the time that is saved is not worth the pause
  kNoCheckpoint,    // its command has saved nothing that it could go on from with more workers
};
absl::string_view Name(GrowthReason reason);
std::vector<GrowthReason> AllGrowthReasons();

struct GrowthView {
  const v1alpha1::TrainingJobSpec* spec = nullptr;  // defaulted; never null
  int size = 0;                                     // the workers that the job trains with
  int granted = 0;                                  // those that it may have
  bool training = false;  // a round is Active and no worker of the job is missing in it
  int kept = 0;           // status.elastic.kept; 0: the job wants workers.count
  bool taken_by_queue = false;
  // False for a command that has not reported a checkpoint: it ends and starts anew to grow.
  bool can_go_on = true;
  absl::Duration left;   // until the run's end, with `size` workers; zero: not known
  absl::Duration pause;  // of a resize
  // The time in which workers start while the job trains on without them.
  absl::Duration start_up;
  absl::Time snoozed_until = absl::InfinitePast();
  absl::Time snoozed_until_wall = absl::InfinitePast();  // the same, for people
  // The sizes that were wanted at the last look; none: 0.
  int least_before = 0;
  int wanted_before = 0;
};

struct GrowthWish {
  // The smallest and largest size that are worth it; 0: none.
  int least = 0;
  int wanted = 0;
  GrowthReason reason = GrowthReason::kAtMaximum;
  std::string sentence;
  absl::Time recheck = absl::InfiniteFuture();
};

// Returns the sizes that the job wants. How long a step is with another number of workers, is
// RelativeStepTime's to say. A size is worth it if what it saves of the time that is left once its
// workers have started is more than two pauses: the second one is for the day on which the workers
// go again. A size that was not wanted before has to save half as much again.
GrowthWish WishToGrow(absl::Time now, const GrowthView& view);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_GROWTH_GROWTH_POLICY_H_
