#ifndef MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace muster::agent {

// The pace of a stream of replicas: slow enough to disturb training little, fast enough that the
// next copy need not wait. The bytes are spread evenly over half of the shortest of the last
// intervals between copies; before there is an interval they are sent at once. Pure; times are
// monotonic.
class ReplicaPace {
 public:
  // `ranks` copies are made at a time, and sent one after the other.
  explicit ReplicaPace(int ranks) : ranks_(ranks) {}

  // Call when a rank has completed a copy.
  void NoteCopy(int local_rank, absl::Time now);
  // Returns the earliest time to send the next part of a copy whose stream began at `begun` and has
  // sent `sent` of `total` bytes.
  absl::Time NextPart(absl::Time begun, int64_t sent, int64_t total) const;
  // Returns the time limit for sending a copy of `bytes`: a stream that takes longer is stuck, and
  // given up.
  absl::Duration Deadline(int64_t bytes) const;

 private:
  absl::Duration Interval() const;

  const int ranks_;
  std::deque<absl::Time> copies_;  // of rank 0, the newest last
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_PACE_H_
