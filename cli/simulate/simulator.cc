#include "cli/simulate/simulator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cli/simulate/sim_metrics.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/empty_cluster.h"
#include "operator/queue/schedule.h"

namespace muster::cli {
namespace {

using control::Decision;
using control::QueuedJob;
using control::ScheduleAction;
using control::ScheduleReason;

// kMayTake: a job has waited, or another has run, for as long as their queue wants; all that this
// needs is a cycle.
enum class EventKind { kLeaversGone, kFinish, kMayTake };

// An event of a job; void if it has started, stopped or changed its size since.
struct Event {
  absl::Time at;
  EventKind kind;
  size_t job;
  int version;
  bool operator>(const Event& other) const {
    if (at != other.at) return at > other.at;
    return kind != other.kind ? kind > other.kind : job > other.job;
  }
};

// The next checkpoint of a job in training; void if its training has changed since.
struct Save {
  absl::Time at;
  size_t job;
  int version;
  bool operator>(const Save& other) const { return at > other.at; }
};

// The progress of a job's training.
struct Training {
  double left = 0;  // seconds of training with all its workers
  absl::Time since = absl::UnixEpoch();
  int workers = 0;  // the number of them that train
  int version = 0;
  bool started = false;
  absl::Time span_start = absl::UnixEpoch();
};

// The reason why a job waited, as of the last decision about it.
struct Refusal {
  ScheduleReason reason = ScheduleReason::kBehind;
  std::string sentence = "it was not looked at: others are ahead of it and cannot start";
};

class Simulator {
 public:
  Simulator(const SimCluster& cluster, const std::vector<SimJob>& jobs,
            const DecisionObserver& observer, const CycleObserver& cycles)
      : cluster_(cluster),
        jobs_(jobs),
        observer_(observer),
        cycles_(cycles),
        tree_(cluster.inventory),
        book_(cluster.book),
        empty_(cluster.inventory),
        metrics_(cluster, tree_, jobs),
        trainings_(jobs.size()) {
    book_.SetCapacity(cluster.capacity);
    book_.SetQueues(absl::UnixEpoch(), cluster.queues);
    for (const control::QueueSpec& queue : cluster.queues) {
      if (queue.min_runtime > absl::ZeroDuration()) min_runtime_[queue.name] = queue.min_runtime;
    }
    for (size_t i = 0; i < jobs.size(); ++i) {
      index_[jobs[i].job.uid] = i;
      trainings_[i].left = absl::ToDoubleSeconds(jobs[i].duration);
    }
  }

  SimReport Run();

 private:
  absl::Time NextEvent() const;
  std::vector<Decision> Decide();
  void Apply(const Decision& decision);
  void Start(size_t job, const Decision& decision);
  void LetGo(size_t job, int staying);
  void Grow(size_t job, const Decision& decision);
  void Handle(const Event& event);
  void Finish(size_t job);
  void LeaversGone(size_t job);
  void BeginToWait(size_t job);
  // Accounts for the training done until now.
  void Settle(size_t job);
  // Ends the current span and reports it.
  void EndSpan(size_t job);
  // Continues training with `workers` workers, after `pause`.
  void Train(size_t job, int workers, absl::Duration pause);
  std::vector<int> Free(const QueuedJob& job, int from);
  std::vector<int> NodesOf(const std::vector<std::string>& names, size_t from) const;
  void SaveCheckpoints();
  QueuedJob Submitted(size_t job);
  void NoteWait(const Decision& decision);
  std::vector<NeverStarted> TellNeverStarted() const;
  std::optional<absl::Duration> Estimate(size_t job) const;

  const SimCluster& cluster_;
  const std::vector<SimJob>& jobs_;
  const DecisionObserver& observer_;
  const CycleObserver& cycles_;
  control::TopologyTree tree_;
  control::QueueBook book_;
  control::EmptyCluster empty_;
  SimMetrics metrics_;
  std::vector<Training> trainings_;
  absl::flat_hash_map<size_t, Refusal> refusals_;  // of jobs that have not started yet
  absl::flat_hash_map<std::string, size_t> index_;
  absl::flat_hash_map<std::string, absl::Duration> min_runtime_;  // by queue
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  std::priority_queue<Save, std::vector<Save>, std::greater<Save>> saves_;
  size_t submitted_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  SimReport report_;
};

absl::Time Simulator::NextEvent() const {
  absl::Time next = absl::InfiniteFuture();
  if (submitted_ < jobs_.size()) next = jobs_[submitted_].job.created;
  if (!events_.empty()) next = std::min(next, events_.top().at);
  return next;
}

std::vector<int> Simulator::NodesOf(const std::vector<std::string>& names, size_t from) const {
  std::vector<int> nodes;
  for (size_t i = from; i < names.size(); ++i) nodes.push_back(*tree_.FindNode(names[i]));
  return nodes;
}

std::vector<int> Simulator::Free(const QueuedJob& job, int from) {
  const std::vector<int> nodes = NodesOf(job.nodes, from);
  for (int node : nodes) tree_.Charge(node, -job.request.per_worker);
  return nodes;
}

void Simulator::Settle(size_t job) {
  Training& training = trainings_[job];
  if (training.workers > 0 && now_ > training.since) {
    const double all = jobs_[job].job.request.max;
    training.left -= absl::ToDoubleSeconds(now_ - training.since) * training.workers / all;
    training.left = std::max(0.0, training.left);
  }
  training.since = std::max(training.since, now_);
}

QueuedJob Simulator::Submitted(size_t job) {
  QueuedJob queued = jobs_[job].job;
  queued.fits_nowhere = !empty_.HasPlaceFor(queued.request);
  return queued;
}

// Returns the job's own estimate of its remaining time.
std::optional<absl::Duration> Simulator::Estimate(size_t job) const {
  const std::optional<absl::Duration>& whole = jobs_[job].job.runtime;
  const double duration = absl::ToDoubleSeconds(jobs_[job].duration);
  if (!whole || duration <= 0) return whole;
  const Training& training = trainings_[job];
  const int workers = training.workers > 0 ? training.workers : jobs_[job].job.request.max;
  return *whole * (training.left / duration) * (1.0 * jobs_[job].job.request.max / workers);
}

void Simulator::EndSpan(size_t job) {
  Training& training = trainings_[job];
  const absl::Time first = jobs_.front().job.created;
  if (training.workers > 0 && now_ > training.span_start) {
    report_.spans.push_back({job, absl::ToDoubleSeconds(training.span_start - first),
                             absl::ToDoubleSeconds(now_ - first), training.workers});
  }
  training.span_start = now_;
}

void Simulator::Train(size_t job, int workers, absl::Duration pause) {
  Settle(job);
  Training& training = trainings_[job];
  EndSpan(job);
  training.workers = workers;
  training.since = std::max(training.since, now_ + pause);
  ++training.version;
  if (workers == 0) return;
  const double all = jobs_[job].job.request.max;
  // Rounded up, so that the job does not end before its work does.
  const absl::Duration left =
      absl::Ceil(absl::Seconds(training.left * all / workers), absl::Nanoseconds(1));
  events_.push({training.since + left, EventKind::kFinish, job, training.version});
  if (jobs_[job].checkpoint_every > absl::ZeroDuration()) {
    saves_.push({now_, job, training.version});
  }
  const QueuedJob& queued = *book_.Find(jobs_[job].job.uid);
  std::optional<absl::Time> ends;
  if (const auto estimate = Estimate(job)) ends = training.since + *estimate;
  book_.Progress(queued.uid, queued.checkpointed, ends);
}

void Simulator::Start(size_t job, const Decision& decision) {
  Training& training = trainings_[job];
  metrics_.Started(jobs_[job], now_, !training.started);
  metrics_.Used(jobs_[job], decision.workers, NodesOf(decision.placement.nodes, 0));
  const absl::Duration pause = training.started ? cluster_.restart : absl::ZeroDuration();
  training.started = true;
  refusals_.erase(job);
  training.since = now_;
  Train(job, decision.workers, pause);
  const auto least = min_runtime_.find(decision.numbers.queue);
  if (least != min_runtime_.end()) {
    events_.push({now_ + least->second, EventKind::kMayTake, job, training.version});
  }
  if (decision.reason == ScheduleReason::kBackfilled) ++report_.backfills;
}

void Simulator::LetGo(size_t job, int staying) {
  ++(staying == 0 ? report_.stops : report_.shrinks);
  Train(job, staying, absl::ZeroDuration());
  if (staying == 0 && jobs_[job].checkpoint_every == absl::ZeroDuration()) {
    trainings_[job].left = absl::ToDoubleSeconds(jobs_[job].duration);
  }
  events_.push({now_ + cluster_.stop, EventKind::kLeaversGone, job, trainings_[job].version});
}

void Simulator::Grow(size_t job, const Decision& decision) {
  ++report_.grows;
  const int before = trainings_[job].workers;
  metrics_.Used(jobs_[job], decision.workers - before, NodesOf(decision.placement.nodes, before));
  Train(job, decision.workers, absl::ZeroDuration());
}

// Only the first refusal for a reason is turned into a sentence, because thousands of jobs are
// refused again in each cycle.
void Simulator::NoteWait(const Decision& decision) {
  const size_t job = index_.at(decision.job);
  if (trainings_[job].started) return;
  const auto [known, is_new] = refusals_.try_emplace(job);
  if (!is_new && known->second.reason == decision.reason) return;
  known->second = {decision.reason, Sentence(decision, now_)};
}

std::vector<NeverStarted> Simulator::TellNeverStarted() const {
  std::map<ScheduleReason, NeverStarted> by_reason;
  for (size_t job = 0; job < trainings_.size(); ++job) {
    if (trainings_[job].started) continue;
    const auto found = refusals_.find(job);
    const Refusal refusal = found == refusals_.end() ? Refusal() : found->second;
    NeverStarted& told = by_reason[refusal.reason];
    if (++told.jobs > 1) continue;
    told.reason = std::string(Name(refusal.reason));
    told.first = jobs_[job].job.name;
    told.sentence = refusal.sentence;
  }
  std::vector<NeverStarted> out;
  for (auto& [reason, told] : by_reason) out.push_back(std::move(told));
  std::stable_sort(out.begin(), out.end(),
                   [](const NeverStarted& a, const NeverStarted& b) { return a.jobs > b.jobs; });
  return out;
}

void Simulator::Apply(const Decision& decision) {
  if (observer_) observer_(now_, decision);
  if (decision.action == ScheduleAction::kWait) return NoteWait(decision);
  const size_t job = index_.at(decision.job);
  switch (decision.action) {
    case ScheduleAction::kStart:
      return Start(job, decision);
    case ScheduleAction::kStop:
    case ScheduleAction::kShrink:
      return LetGo(job, decision.workers);
    case ScheduleAction::kGrow:
      return Grow(job, decision);
    case ScheduleAction::kWait:
      return;
  }
}

void Simulator::Finish(size_t job) {
  const QueuedJob& queued = *book_.Find(jobs_[job].job.uid);
  const int workers = queued.workers();
  const std::vector<int> nodes = Free(queued, 0);
  metrics_.Used(jobs_[job], -workers, nodes);
  book_.Remove(now_, jobs_[job].job.uid);
  EndSpan(job);
  trainings_[job].workers = 0;
  ++trainings_[job].version;
  ++report_.finished;
  metrics_.Finished(now_);
}

void Simulator::LeaversGone(size_t job) {
  QueuedJob queued = *book_.Find(jobs_[job].job.uid);
  const int staying = queued.workers() - queued.leaving;
  const std::vector<int> nodes = Free(queued, staying);
  metrics_.Used(jobs_[job], -queued.leaving, nodes);
  queued.nodes.resize(staying);
  queued.leaving = 0;
  if (staying == 0) {
    metrics_.Waits(jobs_[job]);
    queued.runtime = Estimate(job);
    if (queued.runtime) *queued.runtime += cluster_.restart;
  }
  book_.Upsert(now_, std::move(queued));
  if (staying == 0) BeginToWait(job);
}

void Simulator::BeginToWait(size_t job) {
  const absl::Time shrinks = book_.ShrinksOthersFrom(jobs_[job].job.uid);
  if (shrinks <= now_ || shrinks == absl::InfiniteFuture()) return;
  events_.push({shrinks, EventKind::kMayTake, job, trainings_[job].version});
}

void Simulator::Handle(const Event& event) {
  if (event.version != trainings_[event.job].version) return;
  if (event.kind == EventKind::kFinish) return Finish(event.job);
  if (event.kind == EventKind::kLeaversGone) LeaversGone(event.job);
}

// A cycle weighs the work that a stop would lose, so it must know each job's last checkpoint.
void Simulator::SaveCheckpoints() {
  if (book_.waiting() == 0) return;
  while (!saves_.empty() && saves_.top().at <= now_) {
    const Save due = saves_.top();
    saves_.pop();
    if (due.version != trainings_[due.job].version) continue;
    const absl::Duration every = jobs_[due.job].checkpoint_every;
    const QueuedJob& job = *book_.Find(jobs_[due.job].job.uid);
    const absl::Time saved = job.started + absl::Floor(now_ - job.started, every);
    book_.Progress(job.uid, std::max(saved, job.checkpointed), job.ends);
    saves_.push({saved + every, due.job, due.version});
  }
}

std::vector<Decision> Simulator::Decide() {
  if (!cycles_) return Schedule(now_, tree_, book_, cluster_.schedule);
  control::DecisionInput input;
  std::vector<Decision> decisions =
      control::ScheduleAndCapture(now_, tree_, book_, cluster_.schedule, input);
  if (!decisions.empty()) cycles_(std::move(input), decisions);
  return decisions;
}

SimReport Simulator::Run() {
  report_.jobs = static_cast<int64_t>(jobs_.size());
  for (absl::Time next = NextEvent(); next < absl::InfiniteFuture(); next = NextEvent()) {
    now_ = next;
    metrics_.Advance(now_);
    for (; submitted_ < jobs_.size() && jobs_[submitted_].job.created <= now_; ++submitted_) {
      metrics_.Submitted(jobs_[submitted_]);
      book_.Upsert(now_, Submitted(submitted_));
      BeginToWait(submitted_);
    }
    while (!events_.empty() && events_.top().at <= now_) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
    }
    SaveCheckpoints();
    ++report_.cycles;
    for (const Decision& decision : Decide()) Apply(decision);
    metrics_.Mark(now_);
  }
  report_.never_started = TellNeverStarted();
  metrics_.Fill(report_);
  return std::move(report_);
}

}  // namespace

SimReport Simulate(const SimCluster& cluster, const std::vector<SimJob>& jobs,
                   const DecisionObserver& observer, const CycleObserver& cycles) {
  return Simulator(cluster, jobs, observer, cycles).Run();
}

}  // namespace muster::cli
