#include "operator/scheduler/scheduler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/queue/book/queue_from_spec.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/book/quota_amounts.h"
#include "operator/queue/forecast/forecast.h"
#include "operator/queue/forecast/what_if.h"
#include "operator/scheduler/queue_sync/queue_past.h"

namespace muster::control {
namespace {

constexpr size_t kFindingsToLog = 20;
// Reservations and shares change with the clock: a cycle whose other inputs are unchanged runs
// again after this.
constexpr absl::Duration kDecideAgain = absl::Seconds(5);

}  // namespace

Scheduler::Scheduler(kube::Api& api, const Clock& clock, JobCache& jobs, PodCache& pods,
                     NodeCache& nodes, std::function<void(const std::string&)> on_verdict,
                     SchedulerOptions options, std::function<void()> wake)
    : clock_(clock),
      jobs_(jobs),
      options_(std::move(options)),
      wake_(std::move(wake)),
      writer_(api, options_.write_threads, wake_),
      feed_(jobs, pods, nodes),
      verdicts_(std::move(on_verdict)),
      gate_(model_, holders_),
      book_({jobs_, model_, holders_, verdicts_}, options_.book),
      writes_(writer_, model_, clock_, options_.volume_deadline,
              [this](const std::string& uid) MUSTER_REQUIRES(model_mu_) {
                book_.Touch(uid);
                rollback_.Touch(uid);
              }),
      rollback_(options_.undo_after),
      publisher_(clock_, model_, verdicts_, writes_,
                 [this](const std::string& name) { return PriorityComplaint(name); }),
      executor_({clock_, model_, gate_, book_, verdicts_, writes_, publisher_}),
      replacer_({model_, book_, verdicts_, writes_, publisher_}),
      notes_(options_.recorder) {
  if (!options_.topology_levels.empty()) {
    model_.SetLevels(options_.topology_levels);
    whole_nodes_.SetLevels(options_.topology_levels);
  }
  model_.SetLinks(options_.queues.links);
}

void Scheduler::FollowQueues(QueueCache& queues, PriorityCache& priorities) {
  queues_ = &queues;
  priorities_ = &priorities;
  feed_.Follow(queues, priorities, wake_);
}

void Scheduler::SetTopologyLevels(std::vector<std::string> keys) {
  MutexLock lock(model_mu_);
  whole_nodes_.SetLevels(keys);
  model_.SetLevels(std::move(keys));
}

void Scheduler::Follow() {
  MutexLock lock(model_mu_);
  TakeInChanges();
}

void Scheduler::TakeInChanges() {
  const SchedulerFeed::Changes changes = feed_.Take();
  for (const auto& change : changes.cluster) change(model_.Storage());
  for (const auto& [name, node] : changes.nodes) {
    if (node != nullptr && node->scheduling->complaint) {
      MUSTER_LOG_LIMITED(WARN, name, "a node is set aside", {"node", name},
                         {"why", node->scheduling->complaint->sentence});
    }
    model_.PutNode(name, node);
    whole_nodes_.Put(clock_.Wall(), name, node == nullptr ? nullptr : node->scheduling);
  }
  for (const auto& [key, pod] : changes.pods) {
    model_.PutPod(key, pod);
    holders_.Put(key, pod);
  }
  for (const auto& [uid, key] : changes.jobs) {
    book_.Touch(uid, key);
    rollback_.Touch(uid);
  }
  if (changes.priorities) book_.SetPriorities(*priorities_);
  if (changes.queues) ReadQueues();
}

void Scheduler::ReadQueues() {
  std::vector<QueueSpec> specs;
  for (const QueueCache::Object& queue : queues_->List()) {
    absl::StatusOr<QueueSpec> spec = QueueFromSpec(queue->name, queue->spec);
    if (spec.ok()) {
      specs.push_back(*std::move(spec));
      continue;
    }
    MUSTER_LOG_LIMITED(WARN, queue->name, "queue ignored", {"queue", queue->name},
                       {"error", spec.status()});
  }
  book_.SetQueues(clock_.Wall(), specs);
}

void Scheduler::ReadCapacity() {
  model_.Tree();
  if (!book_.has_queues() || capacity_at_ == model_.node_changes()) return;
  capacity_at_ = model_.node_changes();
  Amounts capacity;
  model_.ForEachNode([&](const NodeRecord& node) { AddCapacity(*node.scheduling, capacity); });
  book_.SetCapacity(capacity);
}

void Scheduler::RestorePastUse() {
  if (past_use_restored_ || !book_.has_queues()) return;
  past_use_restored_ = true;
  const absl::Time now = clock_.Wall();
  std::map<std::string, std::map<std::string, double>> past;
  for (const QueueCache::Object& queue : queues_->List()) {
    past[queue->name] = PastOf(queue->status, now, options_.book.half_life);
  }
  book_.RememberPast(now, past);
}

void Scheduler::TakeWritten() {
  const int bound = writes_.Take();
  bound_ += bound;
  MutexLock lock(mu_);
  binds_ += bound;
}

void Scheduler::ForgetGone() {
  writes_.Forget();
  verdicts_.Forget(jobs_);
  notes_.Forget([&](const std::string& uid)
                    MUSTER_REQUIRES(model_mu_) { return book_.Find(uid) == nullptr; });
  replacer_.Forget();
}

void Scheduler::RepeatWrites() { writes_.Repeat(); }

void Scheduler::RefuseWithoutVolumes() {
  for (const auto& [uid, why_not] : writes_.TakeVolumes()) {
    const QueueJobState* standing = book_.Find(uid);
    if (standing == nullptr || standing->job == nullptr || model_.gangs().count(uid) == 0) continue;
    publisher_.Refuse(*standing, {kConstraintsReason,
                                  absl::StrCat("its volumes are not there: ", why_not), false});
  }
}

void Scheduler::ReportFindings() {
  {
    MutexLock lock(mu_);
    node_faults_ = model_.snapshot().faults();
  }
  if (model_.findings() == reported_) return;
  size_t logged = 0;
  for (const TopologyFinding& finding : model_.findings()) {
    if (std::find(reported_.begin(), reported_.end(), finding) != reported_.end()) continue;
    if (++logged > kFindingsToLog) break;
    MUSTER_LOG(WARN, "topology labels contradict each other", {"node", finding.node},
               {"finding", finding.sentence});
  }
  reported_ = model_.findings();
  MutexLock lock(mu_);
  findings_ = reported_;
}

std::string Scheduler::PriorityComplaint(const std::string& class_name) const {
  return priorities_ == nullptr ? "" : MissingPriorityClass(*priorities_, class_name);
}

bool Scheduler::MustDecide() {
  const bool changed = book_.TakeChanged();
  const absl::Time now = clock_.Monotonic();
  const bool again = book_.has_queues() && book_.book().waiting() > 0 && now >= decide_again_;
  if (!changed && decided_at_ == model_.changes() && !again) return false;
  decide_again_ = now + kDecideAgain;
  return true;
}

ScheduleOptions Scheduler::OptionsOfCycle() const {
  ScheduleOptions options = options_.queues;
  options.gate = &gate_;
  if (!book_.has_queues()) {
    options.reservations = 0;
    options.backfill_depth = std::numeric_limits<int>::max();
  }
  return options;
}

void Scheduler::SyncQueues() { book_.Update(clock_.Wall()); }

void Scheduler::ReplaceLostWorkers() { replacer_.Replace(); }

void Scheduler::ReportPendingGrowth() { replacer_.ReportPendingGrowth(); }

void Scheduler::PublishDelayed() { verdicts_.PublishDelayed(clock_.Monotonic()); }

void Scheduler::RollBackPartialBinds() {
  const int undone = rollback_.Undo(clock_.Monotonic(), model_, jobs_, verdicts_, writes_);
  MutexLock lock(mu_);
  undone_ += undone;
}

void Scheduler::Decide() {
  if (!MustDecide()) return;
  if (std::exchange(refused_at_, model_.changes()) != model_.changes()) {
    refused_.Clear();
    executor_.Forget();
  }
  decided_at_ = model_.changes();
  whole_nodes_.Forget(clock_.Wall());
  book_.MarkUnplaceableJobs(whole_nodes_);
  ScheduleOptions options = OptionsOfCycle();
  options.refused = &refused_;
  const std::vector<Decision> decisions =
      notes_.Schedule(clock_.Wall(), model_.Tree(), book_.book(), options);
  for (const Decision& decision : decisions) {
    if (!executor_.CarryOut(decision) || decision.action == ScheduleAction::kWait) continue;
    MutexLock lock(mu_);
    ++decisions_[std::string(Name(decision.action))];
  }
  if (book_.has_queues()) overtaken_ += executor_.ReportOvertaken(decisions);
  // The book has all decisions already, except for the GPU kinds that came of them: a job that
  // counted for several kinds may leave room to others now.
  book_.TakeRecounted();
  book_.Update(clock_.Wall());
  if (book_.TakeRecounted()) return wake_();
  book_.TakeChanged();
}

// Queues are brought in step twice, because a worker that was replaced changes what its job holds.
const Scheduler::Step Scheduler::kCycle[] = {
    &Scheduler::TakeInChanges,         // the caches' changes -> model, holders, queues
    &Scheduler::TakeWritten,           // results of the writes of earlier cycles
    &Scheduler::ForgetGone,            // state of jobs that are gone
    &Scheduler::RepeatWrites,          // writes that failed and are due again
    &Scheduler::ReadCapacity,          // nodes -> capacity of the queues
    &Scheduler::RestorePastUse,        // once per leader: what queues have used before
    &Scheduler::RefuseWithoutVolumes,  // gangs whose volumes did not come in time
    &Scheduler::ReportFindings,        // topology labels that contradict each other
    &Scheduler::SyncQueues,            // model -> the queues' book
    &Scheduler::ReplaceLostWorkers,    // new nodes for workers of gangs that run
    &Scheduler::SyncQueues,            // what the replacements changed
    &Scheduler::Decide,                // queues and placement -> decisions, carried out
    &Scheduler::ReportPendingGrowth,   // jobs that wait for room to grow
    &Scheduler::PublishDelayed,        // verdicts that were held back and are due
    &Scheduler::RollBackPartialBinds,  // gangs that were bound in part for too long
};

int Scheduler::RunOnce() {
  {
    MutexLock lock(model_mu_);
    for (const Step step : kCycle) (this->*step)();
    if (options_.writes_apart) return std::exchange(bound_, 0);
  }
  while (writer_.RunNext()) {
  }
  MutexLock lock(model_mu_);
  TakeWritten();
  return std::exchange(bound_, 0);
}

// Forecasts without holding the lock, so that the cycle goes on meanwhile.
GangReport Scheduler::Explain(const TrainingJob& job) const {
  GangReport report;
  std::optional<QueueQuestion> question;
  {
    MutexLock lock(model_mu_);
    report = ExplainGang(model_, job, verdicts_.Of(job.uid));
    report.decision = notes_.DecisionOf(job.uid);
    report.now = clock_.Wall();
    report.warning = PriorityComplaint(job.spec.priority_class_name());
    const QueuedJob* queued = book_.book().Find(job.uid);
    if (queued != nullptr && !queued->running()) {
      question =
          QuestionAbout({report.now, model_, holders_, gate_, book_, OptionsOfCycle()}, job.uid);
    }
  }
  if (question) {
    report.start = ForecastStart(question->input, job.uid, {}, question->gate.get());
  }
  return report;
}

Scheduler::Forecast Scheduler::WhatIf(const TrainingJob& job, const PodRecord& pod) const {
  Forecast forecast;
  QueueQuestion question;
  {
    MutexLock lock(model_mu_);
    forecast = ForecastGang(model_, job, pod);
    forecast.report.now = clock_.Wall();
    forecast.report.warning = PriorityComplaint(job.spec.priority_class_name());
    question = QuestionWith({forecast.report.now, model_, holders_, gate_, book_, OptionsOfCycle()},
                            job, pod);
  }
  forecast.queue = AskWhatIf(std::move(question.input), question.job, {}, question.gate.get());
  return forecast;
}

DomainReport Scheduler::Tree(int depth) const {
  MutexLock lock(model_mu_);
  return ReportTree(model_, depth);
}

CapacityReport Scheduler::Capacity() const {
  MutexLock lock(model_mu_);
  return ReportCapacity(model_);
}

std::vector<QueueReport> Scheduler::Queues(int most_jobs) const {
  MutexLock lock(model_mu_);
  return ReportQueues(clock_.Wall(), book_.book(), verdicts_, most_jobs);
}

SchedulerWork Scheduler::work() const {
  MutexLock lock(model_mu_);
  return {rollback_.checks(), overtaken_};
}

int64_t Scheduler::binds() const {
  MutexLock lock(mu_);
  return binds_;
}

int64_t Scheduler::undone() const {
  MutexLock lock(mu_);
  return undone_;
}

std::map<std::string, int64_t> Scheduler::decisions() const {
  MutexLock lock(mu_);
  return decisions_;
}

std::map<NodeFault, int64_t> Scheduler::NodeFaults() const {
  MutexLock lock(mu_);
  return node_faults_;
}

std::vector<TopologyFinding> Scheduler::TopologyFindings() const {
  MutexLock lock(mu_);
  return findings_;
}

}  // namespace muster::control
