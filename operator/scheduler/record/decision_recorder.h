#ifndef MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_
#define MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/schedule.h"
#include "operator/scheduler/record/decision_ring.h"

namespace muster::control {

// Takes decisions from the scheduler's thread and has another thread write them: a slow or broken
// disk costs records, never a decision. A decision with the outcome of the one before it is not
// kept again. Thread-safe.
//
//   DecisionInput input;
//   const auto decisions = ScheduleAndCapture(now, tree, book, options, input);
//   const uint64_t id = recorder.Note(std::move(input), decisions);
class DecisionRecorder {
 public:
  // The most decisions that wait to be written; further ones are dropped.
  static constexpr size_t kMaxWaiting = 16;

  explicit DecisionRecorder(DecisionRing ring);

  // Returns the id under which the decision is kept, or that of the equal one before it; 0 if
  // `decisions` is empty.
  uint64_t Note(DecisionInput input, const std::vector<Decision>& decisions);

  // Writes one decision; returns false if none waits.
  bool RunOnce();
  // Waits for a decision and writes it; returns false after Shutdown, once all are written.
  bool WaitAndRun();
  void Shutdown();

  int64_t kept() const;
  int64_t dropped() const;  // because too many waited, or the disk failed

 private:
  struct Waiting {
    uint64_t id = 0;
    DecisionInput input;
    std::vector<Decision> decisions;
  };

  void Write(const Waiting& waiting);

  mutable Mutex mu_;
  CondVar added_;
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  std::deque<Waiting> waiting_ MUSTER_GUARDED_BY(mu_);
  uint64_t next_id_ MUSTER_GUARDED_BY(mu_) = 1;
  uint64_t last_id_ MUSTER_GUARDED_BY(mu_) = 0;
  std::string last_outcome_ MUSTER_GUARDED_BY(mu_);
  int64_t kept_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t dropped_ MUSTER_GUARDED_BY(mu_) = 0;

  Mutex ring_mu_;
  DecisionRing ring_ MUSTER_GUARDED_BY(ring_mu_);
  bool failing_ MUSTER_GUARDED_BY(ring_mu_) = false;
};

// Calls Schedule(), hands all its input to a recorder if there is one, and remembers which decision
// last mentioned each job. Not thread-safe.
class DecisionNotes {
 public:
  // If `recorder` is null, nothing is kept; otherwise it must outlive this.
  explicit DecisionNotes(DecisionRecorder* recorder) : recorder_(recorder) {}

  std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                                 const ScheduleOptions& options);

  // Returns the id for `muster replay`, or 0 if no decision about the job is kept.
  uint64_t DecisionOf(const std::string& job_uid) const;
  void Forget(const std::function<bool(const std::string& job_uid)>& is_gone);

 private:
  DecisionRecorder* const recorder_;
  std::map<std::string, uint64_t> decided_in_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_
