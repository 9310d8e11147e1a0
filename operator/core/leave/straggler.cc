#include "operator/core/leave/straggler.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/leave/move.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/membership.h"
#include "operator/core/state/spec_values.h"
#include "planner/layout.h"

namespace muster::control {
namespace {

constexpr double kShareOfSteps = 0.9;
constexpr double kTimesTheMean = 1.25;
constexpr int64_t kStepsNeeded = 20;
// The time of a step without the worker, as a part of that with it, at most.
constexpr double kWorthShrinking = 0.9;

// Ranks with more micro-batches, or with the costliest stage, are busier on any machine.
bool HaveEqualShares(const v1alpha1::TrainingJobSpec& spec, int ranks) {
  const v1alpha1::TrainSpec& train = spec.trainer().train();
  const v1alpha1::ParallelismSpec& parallelism = spec.trainer().parallelism();
  if (train.micro_batch() < 1 || ranks < 2 || planner::PipelineOf(parallelism) > 1) return false;
  const int groups = std::max(1, ranks / planner::RanksOfMicroBatch(parallelism));
  return train.global_batch() / train.micro_batch() % groups == 0;
}

bool SomebodyLeaves(const Draft& draft) {
  return std::any_of(draft.workers.begin(), draft.workers.end(), [&](const Worker& worker) {
    const WorkerMemory* known = FindWorkerMemory(draft.plan.memory, worker.index);
    return known != nullptr && known->notice.incarnation == worker.incarnation;
  });
}

// Returns the time of a step without one of the round's workers, as a part of the present one; 1 if
// the job may not have so few.
double StepTimeWithoutOne(const Draft& draft, double factor) {
  const int members = static_cast<int>(draft.plan.memory.members.size());
  const int left = WorkersThatForm(draft.spec(), members - 1);
  if (left < MinWorkers(draft.spec())) return 1;
  return RelativeStepTime(draft.spec(), left) / (RelativeStepTime(draft.spec(), members) * factor);
}

}  // namespace

void FindStraggler(Draft& draft) {
  RoundMemory& memory = draft.memory();
  const std::optional<BusyView>& slowest = draft.view.progress.busy;
  if (!slowest || memory.phase != RoundPhase::kActive || slowest->round != memory.id.round) return;
  if (slowest->steps < kStepsNeeded || slowest->share < kShareOfSteps ||
      slowest->factor < kTimesTheMean) {
    return;
  }
  if (draft.view.now < memory.straggler.not_before) return;
  const bool spare = draft.view.status.workers().spares() > 0;
  const double without = spare ? 0 : StepTimeWithoutOne(draft, slowest->factor);
  if (!(without <= kWorthShrinking)) return;
  const v1alpha1::Member& last = memory.members.back();
  if (!HaveEqualShares(draft.spec(), last.first_rank() + last.ranks())) return;
  const v1alpha1::Member* member = MemberOfRank(memory.members, slowest->rank);
  if (member == nullptr || SomebodyLeaves(draft)) return;
  const Worker* worker = WorkerOf(draft, *member);
  if (worker == nullptr || worker->pod == nullptr || worker->pod->node.empty()) return;
  memory.straggler.not_before = draft.view.now + GrowthSnooze(draft.spec());
  std::string why = absl::StrFormat(
      "rank %d was the busiest in %.0f%% of %d steps, and the busiest rank took "
      "%.2f times the mean",
      slowest->rank, 100 * slowest->share, slowest->steps, slowest->factor);
  if (!spare) {
    absl::StrAppendFormat(&why, "; steps without it are expected to take %.0f%% of the time",
                          100 * without);
  }
  MoveAway(draft, *worker, why);
  memory.workers[worker->index].move.for_good = !spare;
}

}  // namespace muster::control
