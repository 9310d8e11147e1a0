#include "trainer/engine/link/heartbeat.h"

namespace muster::trainer {

void EngineProgress::SetRound(const v1alpha1::RoundId& round) {
  MutexLock lock(mu_);
  round_ = round;
  since_ = clock_.Monotonic();
}

void EngineProgress::SetStep(int64_t step) {
  MutexLock lock(mu_);
  step_ = step;
  since_ = clock_.Monotonic();
}

v1alpha1::FromTrainer EngineProgress::Read() const {
  MutexLock lock(mu_);
  v1alpha1::FromTrainer message;
  v1alpha1::TrainerHeartbeat& beat = *message.mutable_heartbeat();
  *beat.mutable_round() = round_;
  beat.set_step(step_);
  beat.set_seconds(absl::ToDoubleSeconds(clock_.Monotonic() - since_));
  return message;
}

}  // namespace muster::trainer
