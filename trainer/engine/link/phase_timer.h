#ifndef MUSTER_TRAINER_ENGINE_LINK_PHASE_TIMER_H_
#define MUSTER_TRAINER_ENGINE_LINK_PHASE_TIMER_H_

#include <array>
#include <cstddef>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::trainer {

enum class Phase { kInit, kCompute, kData, kCommunication, kCheckpoint, kRecovery, kOther };

// Splits the wall time of one thread into phases. Exactly one phase runs at every moment, so the
// phases sum to the time since construction. Not thread-safe.
class PhaseTimer {
 public:
  PhaseTimer(const Clock& clock, Phase phase)
      : clock_(clock), phase_(phase), since_(clock.Monotonic()) {}

  // Charges the time since the last switch to the running phase, and returns that phase.
  Phase Switch(Phase to) {
    const absl::Time now = clock_.Monotonic();
    totals_[static_cast<size_t>(phase_)] += now - since_;
    since_ = now;
    return std::exchange(phase_, to);
  }

  v1alpha1::PhaseTimes Totals() {
    Switch(phase_);
    v1alpha1::PhaseTimes out;
    out.set_init(Seconds(Phase::kInit));
    out.set_compute(Seconds(Phase::kCompute));
    out.set_data(Seconds(Phase::kData));
    out.set_communication(Seconds(Phase::kCommunication));
    out.set_checkpoint(Seconds(Phase::kCheckpoint));
    out.set_recovery(Seconds(Phase::kRecovery));
    out.set_other(Seconds(Phase::kOther));
    return out;
  }

 private:
  double Seconds(Phase phase) const {
    return absl::ToDoubleSeconds(totals_[static_cast<size_t>(phase)]);
  }

  const Clock& clock_;
  Phase phase_;
  absl::Time since_;
  std::array<absl::Duration, 7> totals_{};
};

// Runs a phase for the length of a scope, then returns to the phase before.
class PhaseScope {
 public:
  PhaseScope(PhaseTimer& timer, Phase phase) : timer_(timer), before_(timer.Switch(phase)) {}
  ~PhaseScope() { timer_.Switch(before_); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  PhaseTimer& timer_;
  const Phase before_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_PHASE_TIMER_H_
