#ifndef MUSTER_TRAINER_ENGINE_STORE_COPY_PACE_H_
#define MUSTER_TRAINER_ENGINE_STORE_COPY_PACE_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace muster::trainer {

// Policy: how many steps one rank wants between two copies of its state in memory, so that copies
// slow training by at most 1%. The cost of a copy is measured: the time for which it blocks
// training, plus the slowdown of the steps beside it against the steps around them. The interval
// follows the mean cost of the last copies and has no upper bound. Where copies are streamed to
// another worker, too, it leaves the network free for three quarters of the time. A step is copied
// once all ranks want a copy. Pure; not thread-safe.
class CopyPace {
 public:
  // The part of the time that copies may take.
  static constexpr double kShare = 0.01;
  // The part of the time in which replicas may take the network.
  static constexpr double kSendingShare = 0.25;
  // Steps at the beginning of a round are measured before the first copy is wanted.
  static constexpr int kMeasuredFirst = 8;

  // Call when a round begins. The measured costs of copies are kept.
  void BeginRound();
  // The background work when a step began. kCopy: a copy is being made, or sent to another worker.
  // kSave: a checkpoint is being written, which hides the cost of a copy.
  enum class Beside { kNothing, kCopy, kSave };
  // Call after each step.
  void StepDone(absl::Duration length, Beside beside);
  // Call when a copy has begun; `blocked` is the time for which that blocked training.
  void CopyBegun(absl::Duration blocked);
  // Sets how long it takes the network to send one copy of each of this worker's ranks; zero
  // without replicas.
  void SetSending(absl::Duration sending) { sending_ = sending; }
  // Returns true if this rank wants a copy after the step that comes next.
  bool IsDue() const;
  // Returns the number of steps between copies as measured so far; at least 1.
  int64_t Interval() const;

 private:
  static constexpr size_t kCopiesKept = 8;

  void SettleCopy();

  absl::Duration step_ = absl::ZeroDuration();  // a step without a copy beside it, smoothed
  int measured_ = 0;                            // such steps of this round
  int64_t since_ = 0;                           // steps since the last copy
  absl::Duration sending_ = absl::ZeroDuration();
  // The copy that is being measured.
  bool unsettled_ = false;
  absl::Duration delay_ = absl::ZeroDuration();
  std::deque<absl::Duration> delays_;  // of the last copies; negative ones are noise, and count
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COPY_PACE_H_
