#ifndef MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_
#define MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"
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

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RECORDER_H_
