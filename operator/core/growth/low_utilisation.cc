#include "operator/core/growth/low_utilisation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/ending/ended.h"
#include "operator/core/growth/grow.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

constexpr double kBusyEnough = 0.5;  // of a job that has grown, without elastic.utilisation
constexpr int64_t kStepsNeeded = 20;
// How much more than enough a larger size has to be used before the job wants it again.
constexpr double kUsedWell = 1.25;
// The time between two reports of a node, and between two looks at them. The newest report may be
// two intervals old, and describes the one before it.
constexpr absl::Duration kReportInterval = absl::Minutes(1);
constexpr absl::Duration kReportsAreOfRound = absl::Minutes(3);
constexpr double kWholeNode = 0.99;
// The longest time for which a job that gave workers back does not ask for them again. The first
// time is DecideOptions::growth_snooze_limit, and each one is twice as long as the one before.
constexpr absl::Duration kLongestPause = absl::Hours(24);

struct Use {
  double busy = 1;      // 0 to 1
  absl::Duration over;  // the time in which it was measured
};

// Returns the use of the GPUs on the nodes of the round's members, if all of them are measured and
// each worker has all GPUs of its node. GPUs of other jobs may be idle for other reasons, and after
// a worker has left a node, so may those that it had.
std::optional<double> GpuUse(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (draft.view.now - memory.phase_since < kReportsAreOfRound) return std::nullopt;
  double sum = 0;
  for (const v1alpha1::Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->pod == nullptr || !worker->pod->gpu_use) return std::nullopt;
    if (worker->pod->gpu_use->share < kWholeNode) return std::nullopt;
    sum += worker->pod->gpu_use->use;
  }
  return sum / static_cast<double>(memory.members.size());
}

// Returns the lower of what the ranks say and what their GPUs' driver says; nothing if neither is
// known of this round.
std::optional<Use> UseOf(const Draft& draft) {
  std::optional<Use> use;
  const std::optional<BusyView>& window = draft.view.progress.busy;
  if (window && window->steps >= kStepsNeeded && window->round == draft.plan.memory.id.round) {
    use = Use{window->busy, absl::Minutes(5)};
  }
  const std::optional<double> gpus = GpuUse(draft);
  if (gpus && (!use || *gpus < use->busy)) use = Use{*gpus, kReportInterval};
  return use;
}

// Returns all sizes that the job may have, ascending.
std::vector<int> AllSizes(const v1alpha1::TrainingJobSpec& spec) {
  std::vector<int> sizes = SizesUpToCount(spec);
  if (!GrowsByItself(spec)) return sizes;
  const std::vector<int> larger = LargerSizes(spec);
  sizes.insert(sizes.end(), larger.begin(), larger.end());
  return sizes;
}

// Returns the largest size below `workers` that is expected to be used enough. If no size is,
// returns the smallest one, or 0 if the job may have no size below `workers`.
int EnoughWorkers(const Draft& draft, double busy, int workers) {
  const std::vector<int> sizes = AllSizes(draft.spec());
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (*size >= workers) continue;
    const double expected = ExpectedUse(draft.spec(), busy, workers, *size);
    if (expected >= draft.spec().elastic().utilisation().below()) return *size;
  }
  return sizes.empty() || sizes.front() >= workers ? 0 : sizes.front();
}

// Returns the largest size above `workers`, up to workers.count, that is expected to be used well,
// or 0 if no size is.
int MoreWorkers(const Draft& draft, double busy, int workers) {
  const double well = kUsedWell * draft.spec().elastic().utilisation().below();
  int more = 0;
  for (const int size : SizesUpToCount(draft.spec())) {
    if (size <= workers) continue;
    if (ExpectedUse(draft.spec(), busy, workers, size) >= well) more = size;
  }
  return more;
}

std::string Describe(const Draft& draft, const Use& use, int workers, int keep) {
  const v1alpha1::TrainingJobSpec& spec = draft.spec();
  return absl::StrFormat(
      "keeps %d of %d workers: they were busy for %.0f%% of the time, less than "
      "elastic.utilisation.below for %s; with %d, %.0f%% is expected",
      keep, workers, 100 * use.busy, spec.elastic().utilisation().for_(), keep,
      100 * ExpectedUse(spec, use.busy, workers, keep));
}

absl::Duration PauseAfter(const Draft& draft, int times) {
  absl::Duration pause = draft.options.growth_snooze_limit;
  for (int i = 1; i < times && pause < kLongestPause; ++i) pause *= 2;
  return std::min(pause, kLongestPause);
}

// The job's queue takes the rest for workers that it was told to give up, and gives no more than
// `keep` back.
void Keep(Draft& draft, int keep, const std::string& sentence) {
  UseMemory& memory = draft.memory().use;
  memory.not_before = draft.view.now + PauseAfter(draft, ++memory.given_back);
  v1alpha1::PreemptionStatus& recorded = *draft.status().mutable_preemption();
  recorded.set_time(FormatWall(draft.view.wall));
  recorded.set_reason(std::string(Name(Reason::kUnderused)));
  recorded.set_message(sentence);
  recorded.set_workers(keep);
  SetGranted(draft, keep);
  SnoozeGrowth(draft);
  draft.status().mutable_elastic()->set_kept(keep);
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
  draft.EmitNormal(Reason::kUnderused, absl::StrCat("the job ", sentence));
}

void GiveBack(Draft& draft, const Use& use, int workers) {
  const int count = WorkerCount(draft.spec());
  const int keep = EnoughWorkers(draft, use.busy, workers);
  if (keep == 0) {
    // It cannot give any back, but more would be used even less.
    const bool wants_more = workers < count && draft.status().elastic().kept() == 0;
    if (wants_more) draft.status().mutable_elastic()->set_kept(workers);
    return;
  }
  const std::string sentence = Describe(draft, use, workers, keep);
  if (workers > count) {
    GiveUpWorkers(draft, std::max(keep, count), draft.options.growth_snooze_limit,
                  absl::StrCat("the job ", sentence));
  }
  if (keep < count) Keep(draft, keep, sentence);
}

// Asks the queue for more of workers.count, which it gives when it has room.
void WantMore(Draft& draft, const Use& use, int workers, int more) {
  if (more >= WorkerCount(draft.spec())) {
    draft.status().mutable_elastic()->clear_kept();
  } else {
    draft.status().mutable_elastic()->set_kept(more);
  }
  draft.status().mutable_preemption()->set_message(absl::StrFormat(
      "wants %d workers again, which are expected to be busy for %.0f%% of the time", more,
      100 * ExpectedUse(draft.spec(), use.busy, workers, more)));
}

// Forgets a size that the job no longer keeps: its queue has given it more, or stopped it, or the
// spec has changed.
void FollowKept(Draft& draft) {
  const int kept = draft.status().elastic().kept();
  if (kept == 0) return;
  const std::vector<int> sizes = SizesUpToCount(draft.spec());
  const bool holds =
      draft.spec().elastic().has_utilisation() && draft.status().preemption().workers() > 0 &&
      kept < WorkerCount(draft.spec()) && std::binary_search(sizes.begin(), sizes.end(), kept);
  if (!holds) draft.status().mutable_elastic()->clear_kept();
}

// Restores the pause that the last leader began.
void RestorePause(Draft& draft) {
  UseMemory& memory = draft.memory().use;
  if (std::exchange(memory.restored, true)) return;
  const v1alpha1::PreemptionStatus& recorded = draft.view.status.preemption();
  if (recorded.reason() != Name(Reason::kUnderused)) return;
  memory.given_back = 1;
  const absl::Duration pause = PauseAfter(draft, memory.given_back);
  memory.not_before =
      draft.view.now +
      std::clamp(ParseWall(recorded.time()) + pause - draft.view.wall, absl::ZeroDuration(), pause);
}

// Returns true if `is` has been so for the time of elastic.utilisation; before, it has to be looked
// at again. `over` is the time that the look describes.
bool HasLasted(Draft& draft, bool is, absl::Duration over, std::optional<absl::Time>& since) {
  if (!is) {
    since.reset();
    return false;
  }
  if (!since) since = std::max(draft.view.now - over, draft.plan.memory.phase_since);
  const absl::Duration wanted =
      ParseDurationOr(draft.spec().elastic().utilisation().for_(), absl::Minutes(10));
  return draft.view.now - *since >= wanted;
}

// Returns the use of a round that has all workers that the job wants; nothing if it is not known,
// or if the job could not go on with others. A command without a checkpoint would begin anew.
std::optional<Use> UseOfSettledRound(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive || memory.stop.since) return std::nullopt;
  const int wanted = WorkersThatForm(draft.spec(), draft.WorkersWanted());
  const bool whole = static_cast<int>(memory.members.size()) == wanted;
  if (!whole || memory.members.empty() || EndedWorkers(draft) > 0) return std::nullopt;
  if (!draft.spec().has_trainer() && NewestCheckpoint(draft) < 0) return std::nullopt;
  return UseOf(draft);
}

void WatchUse(Draft& draft) {
  RestorePause(draft);
  UseMemory& memory = draft.memory().use;
  const std::optional<Use> use = UseOfSettledRound(draft);
  if (!use || memory.round != draft.memory().id.round) {
    memory.round = draft.memory().id.round;
    memory.low_since.reset();
    memory.high_since.reset();
  }
  if (draft.memory().phase == RoundPhase::kActive) {
    draft.RequeueAt(draft.view.now + kReportInterval);
  }
  if (!use) return;
  const int workers = static_cast<int>(draft.memory().members.size());
  const bool low = use->busy < draft.spec().elastic().utilisation().below();
  if (HasLasted(draft, low, use->over, memory.low_since)) return GiveBack(draft, *use, workers);
  const int kept = draft.status().elastic().kept();
  if (kept == 0) return;
  const int more = MoreWorkers(draft, use->busy, workers);
  const bool lasts = HasLasted(draft, more > kept, use->over, memory.high_since);
  if (lasts && draft.view.now >= memory.not_before) WantMore(draft, *use, workers, more);
}

// Spares that take seats are granted as well, but they do not make a round larger.
void GiveUpIdleGrowth(Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const std::optional<BusyView>& window = draft.view.progress.busy;
  if (!window || window->steps < kStepsNeeded || window->busy >= kBusyEnough) return;
  if (memory.phase != RoundPhase::kActive || window->round != memory.id.round) return;
  if (!GrowsByItself(draft.spec()) || SpareCount(draft.spec()) > 0) return;
  const int granted = GrantedSize(draft.spec(), draft.status());
  const int members = static_cast<int>(memory.members.size());
  if (granted == 0 || members != granted || draft.WorkersWanted() != granted) return;
  const int keep =
      std::max(WorkerCount(draft.spec()), LargestUpTo(LargerSizes(draft.spec()), granted - 1));
  GiveUpWorkers(draft, keep, draft.options.growth_snooze_limit,
                absl::StrFormat("the ranks of %d workers were busy for %.0f%% of the last 5m: the "
                                "job goes back to %d workers",
                                members, 100 * window->busy, keep));
}

}  // namespace

double ExpectedUse(const v1alpha1::TrainingJobSpec& spec, double busy, int workers, int others) {
  const double longer = RelativeStepTime(spec, others) / RelativeStepTime(spec, workers);
  const double work = busy * workers / others;
  return std::min(1.0, work / (1 + busy * (longer - 1)));
}

void GiveUpIdleWorkers(Draft& draft) {
  FollowKept(draft);
  if (draft.spec().elastic().has_utilisation()) return WatchUse(draft);
  GiveUpIdleGrowth(draft);
}

}  // namespace muster::control
