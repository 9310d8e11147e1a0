#include "operator/queue/forecast/schedule_rollout.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/victim_trial.h"
#include "operator/queue/schedule.h"

namespace muster::control {

// Asks about one gang as the future stands, and repeats the input's answers about all others.
class ScheduleRollout::Gate final : public GangGate {
 public:
  Gate(ScheduleRollout& future, const DecisionInput& input)
      : future_(future), known_(GateOf(input)) {}

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override {
    return known_->NodesFor(job_uid);
  }
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    if (question.job == future_.asked_.job) return future_.Ask(question);
    return known_->PlacesFor(question);
  }

 private:
  ScheduleRollout& future_;
  const std::unique_ptr<GangGate> known_;
};

ScheduleRollout::~ScheduleRollout() = default;

ScheduleRollout::ScheduleRollout(const DecisionInput& input, Asked asked)
    : asked_(std::move(asked)),
      gate_(asked_.gate == nullptr ? GateOf(input) : std::make_unique<Gate>(*this, input)),
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
    // The end of a late job is fixed once, or it would move at each look.
    if (job.ends) book_.Progress(job.uid, job.checkpointed, ExpectedEnd(job, now_));
  }
}

// Adds to the question, which is about this cycle, what earlier cycles have changed. Jobs that ran
// at the beginning and have grown since are left out.
std::optional<GangAnswer> ScheduleRollout::Ask(GangQuestion question) {
  if (++questions_ > asked_.most) {
    return GangAnswer{{},
                      std::string(Name(ScheduleReason::kConstraints)),
                      absl::StrCat("no places were found with ", asked_.most, " questions")};
  }
  for (const Gone& gone : gone_) question.leavers.push_back({gone.job.uid, gone.from});
  for (const auto& [uid, entry] : book_.state().jobs) {
    const QueuedJob& job = entry->job;
    if (!job.running() || job.started == now_ || ran_.contains(uid)) continue;
    question.starters.push_back({uid, job.nodes});
  }
  return asked_.gate->PlacesFor(question);
}

std::vector<Decision> ScheduleRollout::Decide() { return Schedule(now_, tree_, book_, options_); }

absl::Time ScheduleRollout::NextOf(const QueuedJob& job) {
  absl::Time next = ExpectedEnd(job, now_);
  if (job.leaving > 0) {
    next = std::min(next, leaving_.try_emplace(job.uid, now_ + options_.stop_grace).first->second);
  }
  return next;
}

bool ScheduleRollout::Advance() {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [uid, entry] : book_.state().jobs) {
    if (!entry->job.running()) continue;
    next = std::min(next, NextOf(entry->job));
    const absl::Time unprotected = book_.state().ProtectedUntil(*entry);
    if (unprotected > now_) next = std::min(next, unprotected);
  }
  for (const QueueEntry& queue : book_.state().queues) {
    if (queue.waiting.empty()) continue;
    const auto shrinks = ShrinkForItAt(now_, book_.state(), **queue.waiting.begin());
    if (shrinks) next = std::min(next, *shrinks);
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

void ScheduleRollout::EndAll() {
  std::vector<std::string> running;
  for (const auto& [uid, entry] : book_.state().jobs) {
    if (entry->job.running()) running.push_back(uid);
  }
  for (const std::string& uid : running) End(uid);
}

void ScheduleRollout::Release(const QueuedJob& job, int from, bool told) {
  for (int i = from; i < job.workers(); ++i) {
    const std::optional<int> node = tree_.FindNode(job.nodes[i]);
    if (!node) continue;
    tree_.Charge(*node, -job.request.per_worker);
  }
  if (ran_.contains(job.uid)) gone_.push_back({job, from, job.workers(), now_, told});
  leaving_.erase(job.uid);
}

void ScheduleRollout::End(const std::string& uid) {
  Release(*book_.Find(uid), 0, false);
  ran_.erase(uid);
  book_.Remove(now_, uid);
}

void ScheduleRollout::LetGo(const std::string& uid) {
  QueuedJob job = *book_.Find(uid);
  const int staying = std::max(0, job.workers() - job.leaving);
  Release(job, staying, true);
  if (staying == 0) ran_.erase(uid);
  job.nodes.resize(staying);
  job.leaving = 0;
  job.leaves_for.clear();
  book_.Upsert(now_, std::move(job));
}

}  // namespace muster::control
