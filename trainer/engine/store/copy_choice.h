#ifndef MUSTER_TRAINER_ENGINE_STORE_COPY_CHOICE_H_
#define MUSTER_TRAINER_ENGINE_STORE_COPY_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

// Policy: whether a rank asks in the vote on a step that the state is copied in memory after it.
// The state is copied once all ranks ask. A rank asks only when its newest copy is complete, and,
// where copies are streamed to another worker, whole there: so once a copy is begun, the one before
// it outlives the loss of any worker, and it is kept until the next is begun. A loss then takes
// back the steps from one copy to the next, and those taken while the newer one was made and sent.
// Pure.
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
