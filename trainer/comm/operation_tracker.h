#ifndef MUSTER_TRAINER_COMM_OPERATION_TRACKER_H_
#define MUSTER_TRAINER_COMM_OPERATION_TRACKER_H_

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster::trainer {

// Watches the operations of a group of ranks, and keeps the group's first failure, which every
// later operation shares. A thread that waits for an operation is woken by its end or by the
// failure, whichever comes first: a library may keep an operation asleep long after its peer has
// died. Thread-safe.
class OperationTracker {
 public:
  // A failed group's operations may take this long to leave their tensors alone.
  static constexpr absl::Duration kSettleTime = absl::Milliseconds(250);

  // Returns the operation's number, for the calls below.
  int64_t Started();
  void Ended(int64_t operation);
  // Call when an operation ended badly: that is the group's failure, unless there was one.
  void Broke(int64_t operation, const absl::Status& error);

  // Fails the group. The first failure stands and is returned.
  absl::Status Fail(const absl::Status& failure);
  absl::Status failure() const;

  // Returns OK once the operation ended well, else the group's failure, or DeadlineExceeded after
  // `limit`.
  absl::Status Await(int64_t operation, absl::Duration limit);
  // Waits for the operation's end, good or bad, until kSettleTime after the failure; false if it
  // has not ended by then.
  bool Settle(int64_t operation);
  // Returns true if some operation has not ended.
  bool busy() const;

 private:
  mutable Mutex mu_;
  CondVar changed_;
  int64_t next_ MUSTER_GUARDED_BY(mu_) = 0;
  std::set<int64_t> running_ MUSTER_GUARDED_BY(mu_);
  std::set<int64_t> broken_ MUSTER_GUARDED_BY(mu_);
  absl::Status failure_ MUSTER_GUARDED_BY(mu_);
  absl::Time failed_at_ MUSTER_GUARDED_BY(mu_) = absl::InfiniteFuture();
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_OPERATION_TRACKER_H_
