#ifndef MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace muster::agent {

// The pace of a stream of replicas: slow enough to disturb the training beside it little, fast
// enough that the next copy need not wait for it. The bytes are spread evenly over half of the
// shortest of the last intervals between copies; before there is an interval they go at once. Pure;
// times are monotonic.
class ReplicaPace {
 public:
  // `ranks` copies are made at each time, and sent one after the other.
  explicit ReplicaPace(int ranks) : ranks_(ranks) {}

  // Tells that a rank has completed a copy.
  void NoteCopy(int local_rank, absl::Time now);
  // Returns the earliest time of the next part of a copy that was begun at `begun`, of which `sent`
  // of `total` bytes have gone.
  absl::Time NextPart(absl::Time begun, int64_t sent, int64_t total) const;
  // Returns the time in which a copy of so many bytes must arrive: a stream that takes longer is
  // stuck, and given up.
  absl::Duration Deadline(int64_t bytes) const;

 private:
  absl::Duration Interval() const;

  const int ranks_;
  std::deque<absl::Time> copies_;  // of rank 0, the newest last
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_
