#include "operator/queue/book/queue_room.h"

#include <algorithm>
#include <vector>

namespace muster::control {
namespace {

const NamespaceLimit* LimitOf(const QueueSpec& spec, const std::string& ns) {
  const NamespaceLimit* others = nullptr;
  for (const NamespaceLimit& limit : spec.namespace_limits) {
    if (limit.ns == ns) return &limit;
    if (limit.ns == "*") others = &limit;
  }
  return others;
}

// The part of the namespace's limit that is left, for the resources that the job asks for.
QuotaNeed LeftOfNamespace(const QueueBook::State& state, const JobEntry& job) {
  const QueueEntry& queue = state.queues[job.queue];
  const NamespaceLimit* limit = LimitOf(queue.spec, job.job.ns);
  QuotaNeed left;
  if (limit == nullptr) return left;
  const auto used = queue.used_by_namespace.find(job.job.ns);
  for (const auto& [resource, each] : job.per_worker) {
    const auto bound = limit->limits.find(state.tree->resource_name(resource));
    if (bound == limit->limits.end()) continue;
    const int64_t taken = used == queue.used_by_namespace.end() ? 0 : used->second[resource];
    left.push_back({resource, bound->second - taken});
  }
  return left;
}

void Bound(int resource, int64_t each, int64_t available, bool of_namespace, int64_t& most,
           Shortage& shortage) {
  available = std::max<int64_t>(0, available);
  if (available / each >= most) return;
  most = available / each;
  shortage = {resource, available, of_namespace};
}

int64_t WithinNamespace(const QuotaNeed& left, const JobEntry& job, int64_t most,
                        Shortage& shortage) {
  for (const auto& [resource, available] : left) {
    for (const auto& [needed, each] : job.per_worker) {
      if (needed == resource) Bound(resource, each, available, true, most, shortage);
    }
  }
  return most;
}

int64_t WithinBoth(const QuotaTree& tree, const QuotaUse& use, const QuotaNeed& left,
                   const JobEntry& job, int64_t most, Shortage& shortage) {
  most = WithinNamespace(left, job, most, shortage);
  const Shortage of_namespace = shortage;
  const bool kept_out = of_namespace.of_namespace && most < job.job.request.min;
  for (const auto& [resource, each] : job.per_worker) {
    if (!tree.is_limited(job.queue, resource)) continue;
    Bound(resource, each, use.Available(job.queue, resource), false, most, shortage);
  }
  if (kept_out) shortage = of_namespace;
  return most;
}

}  // namespace

int64_t RoomInQueue(const QueueBook::State& state, const JobEntry& job, int64_t most,
                    Shortage& shortage) {
  return WithinBoth(*state.tree, *state.use, LeftOfNamespace(state, job), job, most, shortage);
}

int64_t RoomInNamespace(const QueueBook::State& state, const JobEntry& job, int64_t most) {
  Shortage unused;
  return WithinNamespace(LeftOfNamespace(state, job), job, most, unused);
}

QueueRoom::QueueRoom(const QueueBook::State& state, const JobEntry& job)
    : tree_(state.tree.get()), job_(&job), use_(*state.use), left_(LeftOfNamespace(state, job)) {}

void QueueRoom::Leave(int queue, const std::string& ns, const QuotaNeed& amount) {
  use_.Remove(queue, amount);
  ChangeLeft(queue, ns, amount, 1);
}

void QueueRoom::Come(int queue, const std::string& ns, const QuotaNeed& amount) {
  use_.Add(queue, amount);
  ChangeLeft(queue, ns, amount, -1);
}

void QueueRoom::ChangeLeft(int queue, const std::string& ns, const QuotaNeed& amount, int sign) {
  if (left_.empty() || queue != job_->queue || ns != job_->job.ns) return;
  for (auto& [resource, left] : left_) {
    for (const auto& [changed, by] : amount) {
      if (changed == resource) left += sign * by;
    }
  }
}

Shortage QueueRoom::ShortOf(int64_t workers) const {
  Shortage shortage;
  WithinBoth(*tree_, use_, left_, *job_, workers, shortage);
  return shortage;
}

int64_t QueueRoom::Most(int64_t most) const {
  Shortage unused;
  return WithinBoth(*tree_, use_, left_, *job_, most, unused);
}

bool QueueRoom::Fits(int64_t workers) const { return ShortOf(workers).resource < 0; }

}  // namespace muster::control
