// Replays histories of spot markets to the real operator over simulated machines, on virtual time,
// and to models of systems that restart. Prints a table.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "tests/simulation/replay/muster_replay.h"
#include "tests/simulation/replay/restart_model.h"
#include "tests/simulation/replay/spot_shape.h"

namespace muster::control {
namespace {

constexpr int kMachines = 8;
constexpr uint64_t kSeed = 1;
constexpr absl::Duration kLength = absl::Hours(3);
constexpr absl::Duration kNotice = absl::Seconds(30);
constexpr double kDollarsPerHour = 1;  // of a spot machine
constexpr double kStepsPerRow = 1000;

// The rates per hour are those at which Bamboo (NSDI '23) was evaluated, and the last two shapes
// are made like the dense segments of high and low availability of Parcae (NSDI '24).
std::vector<SpotShape> Shapes() {
  return {
      {"10 % an hour, one at a time", kMachines, 0.10, 1, absl::Minutes(10)},
      {"16 % an hour, up to 2 at once", kMachines, 0.16, 2, absl::Minutes(10)},
      {"33 % an hour, up to 3 at once", kMachines, 0.33, 3, absl::Minutes(10)},
      {"dense, high availability", kMachines, 2.0, 2, absl::Minutes(3)},
      {"dense, low availability", kMachines, 3.0, 3, absl::Minutes(20)},
  };
}

ReplayTimes Times() {
  ReplayTimes times;
  times.start = absl::Seconds(30);
  times.load = absl::Seconds(20);
  times.join = absl::Seconds(5);
  times.notice_loss = absl::Seconds(10);
  times.save = absl::Seconds(60);
  times.save_every = 300;
  times.work_per_step = absl::Seconds(8);
  return times;
}

void PrintTimes(const ReplayTimes& times) {
  std::printf(
      "SIMULATION on virtual time: %d machines with a worker each, %s; a step is %s of one worker\n"
      "worker starts in %s; checkpoint every %d steps, durable after %s, loaded in %s; loss "
      "noticed "
      "after %s\n"
      "restart models: loss noticed + start + load, back to the newest durable checkpoint; muster: "
      "a new round joins in %s\n"
      "notice %s; $ %.2f per machine-hour; goodput: steps against the machines held, all at work\n",
      kMachines, absl::FormatDuration(kLength).c_str(),
      absl::FormatDuration(times.work_per_step).c_str(), absl::FormatDuration(times.start).c_str(),
      static_cast<int>(times.save_every), absl::FormatDuration(times.save).c_str(),
      absl::FormatDuration(times.load).c_str(), absl::FormatDuration(times.notice_loss).c_str(),
      absl::FormatDuration(times.join).c_str(), absl::FormatDuration(kNotice).c_str(),
      kDollarsPerHour);
}

void Print(const std::string& system, int64_t steps, absl::Duration held,
           const ReplayTimes& times) {
  const double goodput = absl::FDivDuration(times.work_per_step * steps, held);
  const double dollars = kDollarsPerHour * absl::ToDoubleHours(held);
  const std::string per_row =
      steps == 0 ? "-"
                 : absl::StrFormat("%.2f", dollars * kStepsPerRow / static_cast<double>(steps));
  std::printf("  %-38s %7d %8.3f %12s\n", system.c_str(), static_cast<int>(steps), goodput,
              per_row.c_str());
}

void Replay(const SpotShape& shape, const ReplayTimes& times) {
  const std::vector<SpotEvent> events = Generate(shape, kLength, kSeed);
  const absl::Duration held = Held(shape, events, kLength);
  int taken = 0;
  for (const SpotEvent& event : events) taken += event.taken;
  std::printf("\n%s: %d machines taken, %.0f %% held\n  %-38s %7s %8s %12s\n", shape.name.c_str(),
              taken, 100 * absl::FDivDuration(held, kLength * shape.slots), "", "steps", "goodput",
              "$/1000 steps");
  Print("static restart, needs all (model)",
        StepsOf({shape.slots, false}, times, shape, events, kLength), held, times);
  Print("elastic restart, as torchrun (model)", StepsOf({1, true}, times, shape, events, kLength),
        held, times);
  const absl::Duration none = absl::ZeroDuration();
  Print("muster without notices", ReplayMuster(times, shape, events, kLength, none).steps, held,
        times);
  Print("muster with notices", ReplayMuster(times, shape, events, kLength, kNotice).steps, held,
        times);
  std::fflush(stdout);
}

}  // namespace
}  // namespace muster::control

int main() {
  const muster::control::ReplayTimes times = muster::control::Times();
  muster::control::PrintTimes(times);
  for (const auto& shape : muster::control::Shapes()) muster::control::Replay(shape, times);
  return 0;
}
