#include "operator/core/straggler.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "operator/core/membership.h"
#include "operator/core/move.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

constexpr double kShareOfSteps = 0.9;
constexpr double kTimesTheMean = 1.25;
constexpr int64_t kStepsNeeded = 20;

// Ranks with more micro-batches are busier on any machine.
bool HaveEqualShares(const v1alpha1::TrainingJobSpec& spec, int ranks) {
  const v1alpha1::TrainSpec& train = spec.trainer().train();
  if (train.micro_batch() < 1 || ranks < 2) return false;
  return train.global_batch() / train.micro_batch() % ranks == 0;
}

bool SomebodyLeaves(const Draft& draft) {
  return std::any_of(draft.workers.begin(), draft.workers.end(), [&](const Worker& worker) {
    const WorkerMemory* known = FindWorkerMemory(draft.plan.memory, worker.index);
    return known != nullptr && known->notice.incarnation == worker.incarnation;
  });
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
  if (draft.view.status.workers().spares() < 1 || draft.view.now < memory.straggler.not_before) {
    return;
  }
  const v1alpha1::Member& last = memory.members.back();
  if (!HaveEqualShares(draft.spec(), last.first_rank() + last.ranks())) return;
  const v1alpha1::Member* member = MemberOfRank(memory.members, slowest->rank);
  if (member == nullptr || SomebodyLeaves(draft)) return;
  const Worker* worker = WorkerOf(draft, *member);
  if (worker == nullptr || worker->pod == nullptr || worker->pod->node.empty()) return;
  memory.straggler.not_before = draft.view.now + GrowthSnooze(draft.spec());
  MoveAway(
      draft, *worker,
      absl::StrFormat("rank %d was the busiest in %.0f%% of %d steps, and the busiest rank took "
                      "%.2f times the mean",
                      slowest->rank, 100 * slowest->share, slowest->steps, slowest->factor));
}

}  // namespace muster::control
