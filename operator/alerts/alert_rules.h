#ifndef MUSTER_OPERATOR_ALERTS_ALERT_RULES_H_
#define MUSTER_OPERATOR_ALERTS_ALERT_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "operator/alerts/training_history.h"

// The kinds of alert rules: each has a policy that looks at the history of training, and a memory
// between two looks if it needs one. Pure.
namespace muster::control {

// The result of one look at one alert rule.
struct Finding {
  enum class Change { kNone, kFires, kResolves };
  Change change = Change::kNone;
  std::string sentence;  // the figures on which a change rests
};

struct LossNotFallingMemory {
  // The minimum that a validation must undercut for the rule to cease to fire.
  std::optional<double> minimum;
};

// Policy: fires when the newest `evaluations` validations brought no new minimum of the validation
// loss, and ceases to fire when a validation brings one. A loss that is not finite is no minimum. A
// new leader knows the validations since it leads, and measures by their minimum.
Finding CheckLossNotFalling(int evaluations, const TrainingHistory& history, bool firing,
                            LossNotFallingMemory& memory);

struct LossSpikeMemory {
  size_t calm = 0;  // steps in a row without a spike
};

// The number of steps with a loss that a comparison needs, and the number of steps without a spike
// after which the rule ceases to fire.
inline constexpr size_t kFewestSteps = 20;
inline constexpr size_t kCalmSteps = 20;

// Policy: fires when the loss of a new step is not finite, or more than `factor` times the median
// of up to 100 steps before it, and ceases to fire after kCalmSteps steps in a row without such a
// loss. A median that is not positive is not compared with. The new steps begin at
// history.steps[first_new].
Finding CheckLossSpike(double factor, const TrainingHistory& history, size_t first_new, bool firing,
                       LossSpikeMemory& memory);

struct ThroughputDropRule {
  double factor = 0;
  absl::Duration hold;  // the time for which training must be slow
};

// The speed is measured over windows, each at least this long or as long as the rule's time if that
// is shorter.
inline constexpr absl::Duration kSpeedWindow = absl::Seconds(30);

struct ThroughputDropMemory {
  int64_t round = 0;
  double best = 0;  // tokens per second of the fastest window of `round`
  // The open window; absent before the first step.
  std::optional<int64_t> begin_us;
  int64_t last_us = 0;
  // A script may claim any number of tokens, and the window stays open while its clock stands
  // still.
  double tokens = 0;
  // The time of the newest windows in a row that were slow, and of those that were not.
  absl::Duration slow;
  absl::Duration fast;
};

// Policy: fires when the windows of at least rule.hold in a row are slower than rule.factor times
// the fastest window of the round, and ceases to fire when those of at least rule.hold in a row are
// not. Each round is measured anew. Only the workers' own times count, so clocks that differ do
// not matter. The new steps begin at history.steps[first_new]; `gap` says that steps before them
// are missing.
Finding CheckThroughputDrop(const ThroughputDropRule& rule, const TrainingHistory& history,
                            size_t first_new, bool gap, bool firing, ThroughputDropMemory& memory);

struct StalledView {
  absl::Time now;                                     // monotonic, as all times here
  absl::Time running_since = absl::InfiniteFuture();  // InfiniteFuture: the job is not running
  absl::Time stepped_at = absl::InfinitePast();       // when the newest step was first seen
  bool has_new_step = false;                          // since the last look
};

struct StalledFinding {
  Finding finding;
  absl::Time due = absl::InfiniteFuture();  // when the rule would fire
};

// Policy: fires when a running job has not reported a step for `hold`, counted from its newest step
// or from the time at which it began to run, and ceases to fire with the next step. The time in
// which the job does not run does not count.
StalledFinding CheckStalled(absl::Duration hold, const StalledView& view, bool firing);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_ALERTS_ALERT_RULES_H_
