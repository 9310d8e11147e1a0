#ifndef MUSTER_OPERATOR_RECONCILE_JOB_TURNS_H_
#define MUSTER_OPERATOR_RECONCILE_JOB_TURNS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/core/state/plan.h"

// The turns that jobs take where all of them at once would be too many. Times are Monotonic.
namespace muster::control {

// Bounds the status writes that carry progress only, over all jobs: a token bucket from which a job
// reserves its turn, so that a thousand jobs wait in line instead of asking again and again.
// Thread-safe.
class ProgressBudget {
 public:
  static constexpr int kBurst = 20;
  static constexpr absl::Duration kInterval = absl::Milliseconds(50);  // 20 per second

  // Returns when the caller may write: `now`, or its turn in the line.
  absl::Time Reserve(absl::Time now);

 private:
  Mutex mu_;
  // The time until which reserved writes use up the bucket; in the past if there is credit.
  absl::Time paid_until_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
};

// Limits the jobs that write checkpoints to one storage at a time: those that would share its
// bandwidth, and keep each other's checkpoints from becoming durable, write one after the other. A
// job that writes without a turn, at an interval in steps or in time or at its end, counts as well.
// Jobs get turns in the order in which they asked. Thread-safe.
class SaveTurns {
 public:
  // A job that is not heard of for so long does not wait any more, or does not write any more.
  static constexpr absl::Duration kPlaceKept = absl::Minutes(1);
  static constexpr absl::Duration kTurnKept = absl::Hours(1);

  // `most` jobs may write to a storage at a time; 0: any number.
  explicit SaveTurns(int most) : most_(most) {}

  // Says what the job does now. Returns whether it may begin to write, which is its turn: it counts
  // as one that writes until it says that it does not.
  bool Update(const std::string& job_uid, const std::string& storage, SaveTurn turn,
              absl::Time now);
  void Forget(const std::string& job_uid);

  // Returns the number of jobs that wait.
  int Waiting() const;

 private:
  struct Job {
    std::string uid;
    std::string storage;
    bool has_turn = false;
    absl::Time heard;
  };

  const int most_;
  mutable Mutex mu_;
  std::vector<Job> jobs_ MUSTER_GUARDED_BY(mu_);  // in the order in which they came
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_JOB_TURNS_H_
