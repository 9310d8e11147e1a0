#ifndef MUSTER_TRAINER_ENGINE_STORE_COPY_PACE_H_
#define MUSTER_TRAINER_ENGINE_STORE_COPY_PACE_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace muster::trainer {

// Policy: how many steps one rank wants between two copies of its state in memory, so that copies
// delay training by at most a hundredth. The delay of a copy is measured: the time for which
// training waited for it, and how much longer the steps took that were computed while it was made,
// against the steps around them. The interval follows the mean delay of the last copies, and has no
// upper bound: where copies are dear, few are made. Where copies are sent to another worker as
// well, it leaves the network free for three quarters of the time. Ranks copy the same step once
// all of them want to. Pure; not thread-safe.
class CopyPace {
 public:
  // The part of the time that copies may take.
  static constexpr double kShare = 0.01;
  // The part of the time in which replicas may take the network.
  static constexpr double kSendingShare = 0.25;
  // Steps at the beginning of a round are measured before the first copy is wanted.
  static constexpr int kMeasuredFirst = 8;

  // Call when a round begins. What copies cost is kept.
  void BeginRound();
  // Says what was being done beside a step when it began: kCopy while a copy is made, and while it
  // is sent to another worker. A save of a checkpoint hides what a copy costs.
  enum class Beside { kNothing, kCopy, kSave };
  // Call after each step.
  void StepDone(absl::Duration length, Beside beside);
  // Call when a copy has begun; `blocked` is the time that this took.
  void CopyBegun(absl::Duration blocked);
  // Says for how long the network sends the replicas of this rank's worker's copies; zero: there
  // are none.
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
