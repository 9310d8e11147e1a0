#include "operator/core/low_utilisation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/conditions.h"
#include "operator/core/grow.h"
#include "operator/core/growth_sizes.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

constexpr double kBusyEnough = 0.5;  // of a job that has grown, without elastic.utilisation
constexpr int64_t kStepsNeeded = 20;
// How much more than enough a larger size has to be used before the job wants it again.
constexpr double kUsedWell = 1.25;
// The time between two reports of a node, and between two looks at them. A report of a minute in
// which the round began says little about it.
constexpr absl::Duration kReportInterval = absl::Minutes(1);
// GPUs that the job lacks are another job's, or nobody's.
constexpr double kWholeNode = 0.99;

struct Use {
  double busy = 1;      // 0 to 1
  absl::Duration over;  // the time in which it was measured
};

// Returns the use of the GPUs on the nodes of the round's members, if all of them are measured and
// the job has them to itself.
std::optional<double> GpuUse(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (draft.view.now - memory.phase_since < 2 * kReportInterval) return std::nullopt;
  std::map<std::string, double> shares;
  double sum = 0;
  for (const v1alpha1::Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->pod == nullptr || !worker->pod->gpu_use) return std::nullopt;
    shares[worker->pod->node] += worker->pod->gpu_use->share;
    sum += worker->pod->gpu_use->use;
  }
  const bool alone = std::all_of(shares.begin(), shares.end(),
                                 [](const auto& node) { return node.second >= kWholeNode; });
  if (!alone || memory.members.empty()) return std::nullopt;
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

// Returns the largest size below `workers` that is expected to be used enough, or else the smallest
// that there is; 0 if there is none.
int EnoughWorkers(const Draft& draft, double busy, int workers) {
  const std::vector<int> sizes = AllSizes(draft.spec());
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    if (*size >= workers) continue;
    const double expected = ExpectedUse(draft.spec(), busy, workers, *size);
    if (expected >= draft.spec().elastic().utilisation().below()) return *size;
  }
  return sizes.empty() || sizes.front() >= workers ? 0 : sizes.front();
}

// Returns the largest size up to workers.count, beyond `workers`, that is expected to be used well;
// 0 if there is none.
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

// The job's queue takes the rest for workers that it was told to give up, and gives no more than
// `keep` back.
void Keep(Draft& draft, int keep, const std::string& sentence) {
  v1alpha1::PreemptionStatus& recorded = *draft.status().mutable_preemption();
  recorded.set_time(FormatWall(draft.view.wall));
  recorded.set_reason(std::string(Name(Reason::kUnderused)));
  recorded.set_message(sentence);
  recorded.set_workers(keep);
  draft.status().mutable_elastic()->set_kept(keep);
  draft.status().mutable_workers()->set_desired(draft.WorkersWanted());
  draft.EmitNormal(Reason::kUnderused, absl::StrCat("the job ", sentence));
}

void GiveBack(Draft& draft, const Use& use, int workers) {
  const int keep = EnoughWorkers(draft, use.busy, workers);
  if (keep == 0) return;
  const std::string sentence = Describe(draft, use, workers, keep);
  const int count = WorkerCount(draft.spec());
  if (workers > count) {
    GiveUpWorkers(draft, std::max(keep, count), draft.options.growth_snooze_limit,
                  absl::StrCat("the job ", sentence));
  }
  if (keep < count) Keep(draft, keep, sentence);
}

// Forgets a size that the job no longer keeps: its queue has given it more, or stopped it, or the
// spec has changed.
void FollowKept(Draft& draft) {
  const int kept = draft.status().elastic().kept();
  if (kept == 0) return;
  const bool holds = draft.spec().elastic().has_utilisation() &&
                     draft.status().preemption().workers() > 0 &&
                     kept < WorkerCount(draft.spec()) && kept >= MinWorkers(draft.spec());
  if (!holds) draft.status().mutable_elastic()->clear_kept();
}

// Returns true if `is` has been so for the time of elastic.utilisation; before, it has to be looked
// at again.
bool HasLasted(Draft& draft, bool is, absl::Duration over, std::optional<absl::Time>& since) {
  if (!is) since.reset();
  if (!is) return false;
  if (!since) since = std::max(draft.view.now - over, draft.plan.memory.phase_since);
  const absl::Duration wanted =
      ParseDurationOr(draft.spec().elastic().utilisation().for_(), absl::Minutes(10));
  return draft.view.now - *since >= wanted;
}

void WatchUse(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const int workers = static_cast<int>(memory.members.size());
  const bool settled =
      memory.phase == RoundPhase::kActive && !memory.stop.since && workers == draft.WorkersWanted();
  if (!settled || memory.use.round != memory.id.round) memory.use = {.round = memory.id.round};
  if (!settled) return;
  draft.RequeueAt(draft.view.now + kReportInterval);
  const std::optional<Use> use = UseOf(draft);
  if (!use) {
    memory.use = {.round = memory.id.round};
    return;
  }
  const bool low = use->busy < draft.spec().elastic().utilisation().below();
  if (HasLasted(draft, low, use->over, memory.use.low_since)) return GiveBack(draft, *use, workers);
  v1alpha1::ElasticStatus& elastic = *draft.status().mutable_elastic();
  if (elastic.kept() == 0) return;
  const int more = MoreWorkers(draft, use->busy, workers);
  if (!HasLasted(draft, more > elastic.kept(), use->over, memory.use.high_since)) return;
  if (more >= WorkerCount(draft.spec())) return elastic.clear_kept();
  elastic.set_kept(more);
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
