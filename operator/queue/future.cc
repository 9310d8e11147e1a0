#include "operator/queue/future.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "operator/queue/queue_state.h"
#include "operator/queue/schedule.h"

namespace muster::control {

Future::Future(const DecisionInput& input)
    : gate_(GateOf(input)),
      options_(input.snapshot.options),
      tree_(input.snapshot.inventory),
      book_(input.snapshot.memory.options),
      now_(input.now) {
  options_.gate = gate_.get();
  options_.refused = nullptr;
  FillBook(input.snapshot, book_);
  for (const QueuedJob& job : input.snapshot.jobs) {
    if (!job.running()) continue;
    ran_.insert(job.uid);
    // A late one must not be later each time it is looked at.
    if (job.ends) book_.Progress(job.uid, job.checkpointed, ExpectedEnd(job, now_));
  }
}

std::vector<Decision> Future::Decide() { return Schedule(now_, tree_, book_, options_); }

absl::Time Future::NextOf(const QueuedJob& job) {
  absl::Time next = ExpectedEnd(job, now_);
  if (job.leaving > 0) {
    next = std::min(next, leaving_.try_emplace(job.uid, now_ + options_.stop_grace).first->second);
  }
  return next;
}

bool Future::Advance() {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [uid, entry] : book_.state().jobs) {
    if (entry->job.running()) next = std::min(next, NextOf(entry->job));
  }
  if (next == absl::InfiniteFuture()) return false;
  std::set<std::string> ending;
  std::set<std::string> going;
  for (const auto& [uid, entry] : book_.state().jobs) {
    const QueuedJob& job = entry->job;
    if (!job.running() || NextOf(job) > next) continue;
    (job.leaving == 0 || ExpectedEnd(job, now_) <= next ? ending : going).insert(uid);
  }
  now_ = next;
  for (const std::string& uid : ending) End(uid);
  for (const std::string& uid : going) LetGo(uid);
  return true;
}

void Future::Release(const QueuedJob& job, int from, bool told) {
  const Resources& each = job.request.per_worker;
  for (int i = from; i < job.workers(); ++i) {
    const std::optional<int> node = tree_.FindNode(job.nodes[i]);
    if (!node) continue;
    tree_.Charge(*node, {-each.gpus, -each.cpu_millis, -each.memory_bytes, -each.slots});
  }
  if (ran_.contains(job.uid)) gone_.push_back({job, from, job.workers(), now_, told});
  leaving_.erase(job.uid);
}

void Future::End(const std::string& uid) {
  Release(*book_.Find(uid), 0, false);
  ran_.erase(uid);
  book_.Remove(now_, uid);
}

void Future::LetGo(const std::string& uid) {
  QueuedJob job = *book_.Find(uid);
  const int staying = std::max(0, job.workers() - job.leaving);
  Release(job, staying, true);
  if (staying == 0) ran_.erase(uid);
  job.nodes.resize(staying);
  job.leaving = 0;
  book_.Upsert(now_, std::move(job));
}

}  // namespace muster::control
