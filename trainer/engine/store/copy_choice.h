#ifndef MUSTER_TRAINER_ENGINE_STORE_COPY_CHOICE_H_
#define MUSTER_TRAINER_ENGINE_STORE_COPY_CHOICE_H_

#include <cstdint>
#include <optional>

#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

// Policy: whether a rank asks in the vote on a step that the state is copied in memory after it.
// The state is copied once all ranks ask. A rank asks only when its newest copy is complete, and,
// where copies are streamed to another worker, whole there: so once a copy is begun, the one before
// it outlives the loss of any worker, and it is kept until the next is begun. A loss then takes
// back the steps from one copy to the next, and those taken while the newer one was made and sent.
// Pure.
namespace muster::trainer {

struct CopyMoment {
  int64_t step = 0;         // the one that is voted on
  int64_t copied_step = 0;  // the newest that the round has copied, or that it began with
  int64_t every_steps = 0;  // from one copy to the next; 0: as CopyPace chooses
  bool pace_is_due = false;
  bool idle = true;  // no copy is being made
  bool replica_is_awaited = false;
};

// A copy that is late, because the one before it was not whole in time, is made with the next step
// for which all ranks ask.
bool AsksForCopy(const CopyMoment& moment);

// Returns true if `newest`, the rank's newest complete copy, is on its way to another worker by
// what the agent reported last. Nothing is awaited without a report, nor after a stream that failed
// until another arrives: then only the local copies are of use.
bool IsReplicaAwaited(const std::optional<v1alpha1::ReplicaReport>& report,
                      const std::optional<v1alpha1::Version>& newest);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COPY_CHOICE_H_
