#include "tests/simulation/replay/restart_model.h"

#include <algorithm>
#include <optional>

namespace muster::control {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);

// A run of one model in steps of a tick.
class Run {
 public:
  Run(const RestartModel& model, const ReplayTimes& times, int machines)
      : model_(model), times_(times), machines_(machines) {
    Restart(absl::ZeroDuration());
  }

  void Take(const SpotEvent& event) {
    machines_ += event.taken ? -1 : 1;
    if (event.taken) return Restart(times_.notice_loss);
    if (workers_ == 0 || model_.grows) Restart(absl::ZeroDuration());
  }

  void Tick(absl::Duration now) {
    if (saving_ && now >= saving_->second) {
      durable_ = saving_->first;
      saving_.reset();
    }
    if (workers_ == 0 || (pause_ > absl::ZeroDuration())) {
      pause_ = std::max(pause_ - kTick, absl::ZeroDuration());
      return;
    }
    work_ += kTick * workers_;
    if (work_ < times_.work_per_step) return;
    work_ -= times_.work_per_step;
    if (++step_ % times_.save_every == 0 && !saving_) saving_ = {step_, now + times_.save};
  }

  int64_t step() const { return step_; }

 private:
  void Restart(absl::Duration noticed) {
    step_ = durable_;
    saving_.reset();
    work_ = absl::ZeroDuration();
    workers_ = machines_ >= model_.least ? machines_ : 0;
    pause_ = noticed + times_.start + times_.load;
  }

  const RestartModel& model_;
  const ReplayTimes& times_;
  int machines_;
  int workers_ = 0;
  absl::Duration pause_;
  absl::Duration work_;
  int64_t step_ = 0;
  int64_t durable_ = 0;
  std::optional<std::pair<int64_t, absl::Duration>> saving_;  // the step, and when it is durable
};

}  // namespace

int64_t StepsOf(const RestartModel& model, const ReplayTimes& times, const SpotShape& shape,
                const std::vector<SpotEvent>& events, absl::Duration length) {
  Run run(model, times, shape.slots);
  auto next = events.begin();
  for (absl::Duration now; now < length; now += kTick) {
    for (; next != events.end() && next->at <= now; ++next) run.Take(*next);
    run.Tick(now);
  }
  return run.step();
}

}  // namespace muster::control
