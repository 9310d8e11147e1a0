#include "operator/queue/forecast/headroom.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace muster::control {

namespace {

GangRequest OfSize(GangRequest request, int workers) {
  request.min = workers;
  return request;
}

}  // namespace

Headroom::Headroom(ScheduleRollout& future, const JobEntry& entry, int workers,
                   const std::shared_ptr<const GangNodes>& nodes)
    : tree_(future.tree()),
      quotas_(*future.book().state().tree),
      in_queue_(future.book().state(), entry),
      trial_(tree_, OfSize(entry.job.request, workers), nodes.get()),
      workers_(workers),
      is_all_(!HasInterPodConstraints(nodes.get())) {
  if (entry.job.running()) Leave(entry.job, 0, entry.job.workers());
}

int64_t Headroom::Workers() const {
  int64_t most = 0;
  for (int domain = 0; domain < trial_.domains(); ++domain) {
    most = std::max(most, trial_.Gang(domain));
  }
  return most;
}

std::vector<ScheduleRollout::Gone> Headroom::Needed(
    const std::vector<ScheduleRollout::Gone>& gone) {
  std::vector<ScheduleRollout::Gone> needed;
  for (const ScheduleRollout::Gone& one : gone) {
    Return(one.job, one.from, one.to);
    if (Fits()) continue;
    Leave(one.job, one.from, one.to);
    needed.push_back(one);
  }
  return needed;
}

void Headroom::Move(const QueuedJob& job, int from, int to, int sign) {
  for (int i = from; i < to; ++i) {
    const std::optional<int> node = tree_.FindNode(job.nodes[i]);
    if (node) trial_.Release(*node, job.request.per_worker, sign);
  }
  const int queue = quotas_.FindQueue(QueueBook::State::QueueOf(job));
  if (queue < 0) return;
  const QuotaNeed amount = quotas_.NeedOf(job.quota_per_worker, to - from);
  if (sign > 0) {
    in_queue_.Leave(queue, job.ns, amount);
  } else {
    in_queue_.Come(queue, job.ns, amount);
  }
}

}  // namespace muster::control
