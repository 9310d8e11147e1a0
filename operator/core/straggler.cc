#include "operator/core/straggler.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

const v1alpha1::Member* MemberOfRank(const RoundMemory& memory, int rank) {
  const auto found = std::find_if(
      memory.members.begin(), memory.members.end(), [rank](const v1alpha1::Member& member) {
        return member.first_rank() <= rank && rank < member.first_rank() + member.ranks();
      });
  return found == memory.members.end() ? nullptr : &*found;
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
  const std::optional<StragglerView>& slowest = draft.view.progress.slowest;
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
  const v1alpha1::Member* member = MemberOfRank(memory, slowest->rank);
  if (member == nullptr || SomebodyLeaves(draft)) return;
  memory.straggler.index = member->worker().index();
  memory.straggler.incarnation = member->worker().incarnation();
  memory.straggler.not_before = draft.view.now + GrowthSnooze(draft.spec());
  memory.straggler.why = absl::StrFormat(
      "rank %d was the busiest in %.0f%% of %d steps, and the busiest rank took %.2f times the "
      "mean",
      slowest->rank, 100 * slowest->share, slowest->steps, slowest->factor);
}

std::string WhyStraggler(const RoundMemory& memory, const Worker& worker) {
  const StragglerMemory& straggler = memory.straggler;
  const bool same = straggler.index == worker.index && straggler.incarnation == worker.incarnation;
  return same ? straggler.why : "";
}

}  // namespace muster::control
