#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_FORECAST_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_FORECAST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast/schedule_rollout.h"

// Forecasts when a waiting job starts if no job is submitted and running jobs end when they say:
// asks Schedule itself again at every end until then. Pure and deterministic.
namespace muster::control {

enum class StartKind {
  kNow,        // its turn comes in the next cycle
  kAt,         // at a time that is known
  kNotBefore,  // later than the limits let it look
  kUnknown,    // needs the end of jobs that state none
  kNoRoom,     // it would not fit if every job ended
  kNever,      // its queue or its request forbids it
};
absl::string_view Name(StartKind kind);

// A job that has to end, or to give up workers, first.
struct AwaitedJob {
  std::string uid;
  std::string ns;
  std::string name;
  absl::Time ends = absl::InfiniteFuture();  // InfiniteFuture: it states no end
  int workers = 0;                           // those that go
  bool told = false;                         // it was told to go, or will be
};

struct StartForecast {
  StartKind kind = StartKind::kUnknown;
  absl::Time at = absl::InfiniteFuture();  // kNow, kAt, kNotBefore
  // Each of them is needed: without its end the job would not fit at `at`. The last to end comes
  // last. kUnknown: jobs that state no end.
  std::vector<AwaitedJob> awaited;
  int ahead = 0;    // waiting jobs that start before it
  int running = 0;  // jobs that run now
  int running_endless = 0;
  int workers = 0;  // kNow, kAt: its size when it starts
  Placement placement;
  std::string never;  // kNever: why
};

struct ForecastLimits {
  int cycles = 1000;
  // Jobs looked at, over all cycles.
  int64_t looks = 20'000;
  // Questions to the gate about places for a gang with inter-pod constraints, over all cycles.
  int questions = 100;
};

// Called once, after the first cycle.
using FirstCycle =
    std::function<void(ScheduleRollout& future, const std::vector<Decision>& decisions)>;

// `uid` is a job of the input that waits. If it has inter-pod constraints, `gate`, which knows the
// input's cluster, finds its places; without a gate room alone decides.
StartForecast ForecastStart(const DecisionInput& input, const std::string& uid,
                            const ForecastLimits& limits = {}, GangGate* gate = nullptr,
                            const FirstCycle& first = nullptr);

// "starts in about 40 min, when default/x ends".
std::string Sentence(const StartForecast& forecast, absl::Time now);

// "40 min", "2 h 10 min", "3 d 4 h": rounded as an estimate deserves.
std::string About(absl::Duration duration);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_FORECAST_H_
