#include "trainer/engine/step_reporter.h"

#include <utility>

namespace muster::trainer {
namespace {

constexpr absl::Duration kBetweenBatches = absl::Milliseconds(100);

}  // namespace

void StepReporter::BeginRound(const v1alpha1::RoundId& round) {
  Flush(true);
  *batch_.mutable_round() = round;
}

void StepReporter::Applied(v1alpha1::StepReport report) {
  Commit();
  last_ = std::move(report);
}

void StepReporter::Commit() {
  if (last_) *batch_.add_steps() = *std::exchange(last_, std::nullopt);
}

void StepReporter::Resume(int64_t step) {
  if (last_ && last_->version().step() <= step) Commit();
  last_.reset();
}

void StepReporter::Flush(bool now) {
  const absl::Time time = clock_.Monotonic();
  if (batch_.steps().empty() || (!now && time - sent_ < kBetweenBatches)) return;
  v1alpha1::FromTrainer message;
  *message.mutable_steps() = batch_;
  outbox_.Send(message);
  batch_.clear_steps();
  sent_ = time;
}

}  // namespace muster::trainer
