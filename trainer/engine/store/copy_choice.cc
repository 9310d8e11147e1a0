#include "trainer/engine/store/copy_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/commit/version.h"

namespace muster::trainer {
namespace {

// The weight of the newest step in the smoothed length of a step.
constexpr double kNewest = 0.1;

}  // namespace

void CopyPace::BeginRound() {
  // Another round may have other steps, and the copy under way is measured against none of them.
  measured_ = 0;
  since_ = 0;
  unsettled_ = false;
}

void CopyPace::StepDone(absl::Duration length, Beside beside) {
  ++since_;
  if (beside == Beside::kSave) unsettled_ = false;
  if (beside == Beside::kCopy) delay_ += length - step_;
  if (beside != Beside::kNothing) return;
  SettleCopy();
  step_ = measured_ == 0 ? length : (1.0 - kNewest) * step_ + kNewest * length;
  ++measured_;
}

void CopyPace::CopyBegun(absl::Duration blocked) {
  SettleCopy();
  unsettled_ = measured_ > 0;
  delay_ = blocked;
  since_ = 0;
}

void CopyPace::SettleCopy() {
  if (!unsettled_) return;
  unsettled_ = false;
  delays_.push_back(delay_);
  if (delays_.size() > kCopiesKept) delays_.pop_front();
}

bool CopyPace::IsDue() const { return measured_ >= kMeasuredFirst && since_ + 1 >= Interval(); }

int64_t CopyPace::Interval() const {
  if (step_ <= absl::ZeroDuration()) return 1;
  double steps = absl::FDivDuration(sending_, kSendingShare * step_);
  if (!delays_.empty()) {
    const absl::Duration mean =
        std::accumulate(delays_.begin(), delays_.end(), absl::ZeroDuration()) / delays_.size();
    steps = std::max(steps, absl::FDivDuration(mean, kShare * step_));
  }
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(std::min(steps, 1e9))));
}

bool AsksForCopy(const CopyMoment& moment) {
  if (!moment.idle || moment.replica_is_awaited) return false;
  if (moment.every_steps == 0) return moment.pace_is_due;
  return moment.step / moment.every_steps > moment.copied_step / moment.every_steps;
}

bool IsReplicaAwaited(const std::optional<v1alpha1::ReplicaReport>& report,
                      const std::optional<v1alpha1::Version>& newest) {
  if (!report || !report->streams() || !newest) return false;
  return std::none_of(report->kept().begin(), report->kept().end(),
                      [&](const v1alpha1::Version& kept) { return Same(kept, *newest); });
}

}  // namespace muster::trainer
