#include "operator/queue/room/room_plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "operator/queue/book/queue_room.h"

namespace muster::control {

int NominalWorkers(const QueueBook::State& state, const JobEntry& newcomer, const Claims* claims) {
  static const std::vector<int64_t>* const kNothing = new std::vector<int64_t>;
  const std::vector<int64_t>& claimed = claims == nullptr ? *kNothing : claims->Of(newcomer.queue);
  const QuotaTree& tree = *state.tree;
  int64_t most = newcomer.job.request.max;
  bool limited = false;
  for (const auto& [resource, each] : newcomer.per_worker) {
    if (!tree.is_limited(newcomer.queue, resource)) continue;
    limited = true;
    const int64_t left = tree.subtree_quota(newcomer.queue, resource) -
                         state.use->used(newcomer.queue, resource) -
                         (claimed.empty() ? 0 : claimed[resource]);
    most = std::min(most, std::max<int64_t>(0, left) / each);
  }
  return limited ? static_cast<int>(RoomInNamespace(state, newcomer, most)) : 0;
}

std::optional<RoomPlan> PlanRoom(absl::Time now, const TopologyTree& tree, QueueBook::State& state,
                                 JobEntry& newcomer, int least, const VictimOptions& options) {
  const int min = newcomer.job.request.min;
  const int most = std::max(NominalWorkers(state, newcomer, options.claims), min);
  if (least > most) return std::nullopt;
  auto find = [&](int workers) {
    VictimOptions of_size = options;
    of_size.workers = workers;
    return FindVictims(now, tree, state, newcomer, of_size);
  };
  if (auto plan = find(most)) return RoomPlan{most, *std::move(plan)};
  if (least == most) return std::nullopt;
  auto plan = find(least);
  if (!plan) return std::nullopt;
  RoomPlan best{least, *std::move(plan)};
  // Room for some size is room for every smaller one, so the largest is found by bisection.
  for (int too_many = most; too_many - best.workers > 1;) {
    const int middle = (best.workers + too_many) / 2;
    if ((plan = find(middle))) {
      best = {middle, *std::move(plan)};
    } else {
      too_many = middle;
    }
  }
  return best;
}

}  // namespace muster::control
