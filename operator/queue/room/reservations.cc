#include "operator/queue/room/reservations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

template <typename Ending>
bool EndsBefore(const Ending& a, const Ending& b) {
  return a.at != b.at ? a.at < b.at : a.entry->job.uid < b.entry->job.uid;
}

}  // namespace

Reservations::Reservations(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                           const ReservationLimits& limits)
    : now_(now), tree_(tree), state_(state), limits_(limits) {}

void Reservations::AppendJob(const JobEntry& entry, std::vector<Ending>& endings) const {
  const absl::Time end = ExpectedEnd(entry.job, now_);
  const int workers = entry.job.workers();
  const int staying = std::max(0, workers - entry.job.leaving);
  if (staying < workers) {
    endings.push_back({std::min(end, now_ + limits_.stop_grace), &entry, staying, workers});
  }
  if (staying > 0) endings.push_back({end, &entry, 0, staying});
}

void Reservations::AddJob(const JobEntry& entry) {
  std::vector<Ending> added;
  AppendJob(entry, added);
  for (const Ending& ending : added) {
    for (auto* list : {&endings_, &endings_of_[state_.tree->root(entry.queue)]}) {
      list->insert(std::upper_bound(list->begin(), list->end(), ending, EndsBefore<Ending>),
                   ending);
    }
  }
}

void Reservations::CollectEndings() {
  if (collected_) return;
  collected_ = true;
  for (const QueueEntry& queue : state_.queues) {
    for (const JobEntry* entry : queue.running) AppendJob(*entry, endings_);
  }
  std::stable_sort(endings_.begin(), endings_.end(), EndsBefore<Ending>);
  for (const Ending& ending : endings_) {
    endings_of_[state_.tree->root(ending.entry->queue)].push_back(ending);
  }
}

bool Reservations::Compute(Promise& promise, bool with_nodes) {
  const JobEntry& head = *promise.head;
  promise.room = QueueRoom(state_, head);
  promise.nodes.reset();
  if (with_nodes) {
    const auto usable = limits_.gate == nullptr ? nullptr : limits_.gate->NodesFor(head.job.uid);
    promise.nodes = std::make_unique<GangTrial>(tree_, promise.request, usable.get());
  }
  auto fits = [&] {
    return promise.room.Fits(promise.request.min) && (!with_nodes || promise.nodes->Fits());
  };
  promise.at = now_;
  if (fits()) return true;
  const std::vector<Ending>& endings =
      with_nodes ? endings_ : endings_of_[state_.tree->root(head.queue)];
  for (const Ending& ending : endings) {
    const QueuedJob& job = ending.entry->job;
    const bool endless = ending.at == absl::InfiniteFuture();
    if (endless && job.started > *head.reserved_since) continue;
    promise.room.Leave(*ending.entry, ending.to - ending.from);
    promise.at = ending.at;
    for (int i = ending.from; with_nodes && i < ending.to; ++i) {
      const int node = ending.entry->NodeOf(tree_, i);
      if (node >= 0) promise.nodes->Release(node, job.request.per_worker);
    }
    if (fits()) return true;
  }
  return false;
}

std::optional<absl::Time> Reservations::Reserve(JobEntry& head, int workers, bool by_nodes) {
  CollectEndings();
  int& count = count_of_[state_.tree->root(head.queue)];
  if (count >= limits_.per_cohort) return std::nullopt;
  if (!head.reserved_since) head.reserved_since = now_;
  const int min = head.job.request.min;
  Promise promise{
      &head, head.job.request, now_, head.Need(workers), QueueRoom(state_, head), nullptr, false,
      false};
  promise.request.min = workers;
  promise.wants_nodes = holding_nodes_ < limits_.with_nodes;
  bool possible = Compute(promise, by_nodes && promise.wants_nodes);
  if (!possible && *head.reserved_since < now_) {
    // Endless jobs that started since leave no room: the promise is made anew, counting them.
    head.reserved_since = now_;
    possible = Compute(promise, by_nodes && promise.wants_nodes);
  }
  if (!possible && workers > min) return Reserve(head, min, by_nodes);
  if (!possible) {
    head.reserved_since.reset();
    return std::nullopt;
  }
  promise.borrows = !promise.room.use().WithinQuota(head.queue, promise.need);
  if (promise.wants_nodes) ++holding_nodes_;
  ++count;
  promises_.push_back(std::move(promise));
  return promises_.back().at;
}

bool Reservations::Concerns(const Promise& promise, const JobEntry& job, size_t workers) const {
  if (promise.head == &job) return false;
  const QuotaNeed more = job.Need(static_cast<int64_t>(workers));
  // Jobs of the head's own queue come after it, or they would starve it on its own quota. If the
  // time is unknown, they may use that quota meanwhile.
  const bool after = job.queue == promise.head->queue && promise.at < absl::InfiniteFuture();
  if (promise.borrows && !after && state_.use->WithinQuota(job.queue, more)) return false;
  if (!job.job.runtime) return true;
  return now_ + *job.job.runtime > promise.at;
}

void Reservations::Hold(Promise& promise, const JobEntry& job, const std::vector<int>& nodes,
                        int sign) {
  const auto workers = static_cast<int64_t>(nodes.size());
  if (sign > 0) {
    promise.room.Come(job, workers);
  } else {
    promise.room.Leave(job, workers);
  }
  if (promise.nodes == nullptr) return;
  for (int node : nodes) promise.nodes->Release(node, job.job.request.per_worker, -sign);
}

bool Reservations::Keeps(Promise& promise, const JobEntry& job, const std::vector<int>& nodes) {
  if (promise.wants_nodes && promise.nodes == nullptr && !Compute(promise, true)) {
    promise.wants_nodes = false;
    Compute(promise, false);
  }
  Hold(promise, job, nodes, 1);
  const bool keeps =
      promise.room.Fits(promise.request.min) && (promise.nodes == nullptr || promise.nodes->Fits());
  Hold(promise, job, nodes, -1);
  return keeps;
}

const JobEntry* Reservations::WhoIsDelayed(const JobEntry& job, const std::vector<int>& nodes) {
  for (Promise& promise : promises_) {
    const bool same_cohort = state_.tree->root(promise.head->queue) == state_.tree->root(job.queue);
    if (!same_cohort && !promise.wants_nodes) continue;
    if (!Concerns(promise, job, nodes.size())) continue;
    if (!Keeps(promise, job, nodes)) return promise.head;
  }
  return nullptr;
}

void Reservations::Started(const JobEntry& job, const std::vector<int>& nodes) {
  for (Promise& promise : promises_) {
    // The quota use includes it already.
    if (Concerns(promise, job, 0)) Hold(promise, job, nodes, 1);
  }
  if (collected_) AddJob(job);
}

}  // namespace muster::control
