#include "operator/app/replica.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/kube/object_meta.h"
#include "operator/scheduler/cluster/kueue_topology.h"

namespace muster::control {
namespace {

// The period of checks for the lists awaited between the lease's acquisition and the first bind.
constexpr absl::Duration kTakeOverCheck = absl::Milliseconds(20);
constexpr absl::Duration kUnbounded = absl::Minutes(1);
constexpr int kConflictsToTell = 5;
constexpr absl::Duration kTopologyPeriod = absl::Minutes(1);

}  // namespace

Replica::Replica(kube::Api& api, const Clock& clock, const Clock& lease_clock,
                 ReplicaOptions options)
    : clock_(clock),
      lease_clock_(lease_clock),
      options_(std::move(options)),
      open_api_(api, clock, metrics_, &metrics_),
      api_(
          open_api_, [this] { return CheckLeading(); }, LongestWrite()),
      queue_(clock, WorkQueue::Options(), &metrics_),
      urgency_(clock, [this](bool held) { DeferNonUrgentWork(held); }),
      watch_(open_api_, clock, {options_.namespace_scope, options_.jitter}),
      registry_(clock, &progress_, [this](const std::string& key) { queue_.Add(key); }),
      node_board_(clock),
      events_(
          api_, clock, options_.identity,
          options_.events_apart ? EventRecorder::Sending::kApart : EventRecorder::Sending::kAtOnce),
      scheduler_(
          api_, clock, watch_.jobs(), watch_.pods(), watch_.nodes(),
          [this](const std::string& key) { queue_.Add(key); }, options_.scheduler,
          [this] { wake_(); }),
      queue_status_(api_, watch_.queues()),
      warnings_(events_, watch_.jobs(), watch_.nodes(), watch_.priorities()),
      node_writer_(api_, clock, node_board_, watch_.nodes()),
      node_tainter_(api_, clock, watch_.nodes()),
      topology_asked_(options_.kueue_topology.empty()) {
  registry_.SetStandby("");
  node_board_.SetStandby("");
  scheduler_.FollowQueues(watch_.queues(), watch_.priorities());
  watch_.Follow({[this](const std::string& key) { queue_.Add(key); }, [this] { wake_(); },
                 [this](std::function<void(ClusterSnapshot&)> change) {
                   scheduler_.Change(std::move(change));
                   wake_();
                 }});
}

void Replica::Connect(PodBuilderOptions pods, const std::string& coordinator) {
  pods.has_priority_class = [this](const std::string& name) {
    return watch_.priorities().Get({"", name}) != nullptr;
  };
  executor_ = std::make_unique<Executor>(
      api_, registry_, events_, std::move(pods), [this] { return CheckLeading(); },
      options_.fan_out == nullptr ? FanOut::InOrder() : *options_.fan_out, &urgency_,
      options_.policy_namespace);
  Controller::Deps deps{clock_,    watch_.jobs(), watch_.pods(), registry_,
                        progress_, *executor_,    events_,       scheduler_.verdicts()};
  deps.nodes = &watch_.nodes();
  deps.power = &node_board_;
  deps.prices = options_.prices;
  deps.observer = &metrics_;
  deps.notifier = options_.notifier;
  controller_ = std::make_unique<Controller>(deps, options_.decide);
  if (!options_.election) return;
  kube::LeaseConfig config = *options_.election;
  config.identity = options_.identity;
  config.annotations[kCoordinatorAnnotation] = coordinator;
  elector_ = std::make_unique<kube::LeaderElector>(
      open_api_, lease_clock_, std::move(config),
      kube::LeaderElector::Callbacks{[this](int64_t) { TakeOver(); },
                                     [this](const absl::Status& why) { Lose(why); },
                                     [this](const absl::Status& why) { LogLeaseFailure(why); }});
}

absl::Status Replica::CheckLeading() const {
  if (!options_.election) return absl::OkStatus();
  return elector_ == nullptr ? absl::FailedPreconditionError("the lease is not held")
                             : elector_->CheckLeading();
}

absl::Duration Replica::LongestWrite() const {
  if (!options_.election) return kUnbounded;
  return options_.election->lease_duration - options_.election->renew_deadline;
}

absl::Time Replica::Elect() {
  // Decisions require complete caches, so no replica leads without them.
  if (!HasSynced()) return lease_clock_.Monotonic() + kTakeOverCheck;
  if (elector_ == nullptr) {
    if (!leading_) Lead();
    may_bind_ = true;
    return absl::InfiniteFuture();
  }
  StepElection();
  if (elector_->state() != kube::LeaderElector::State::kLeader) return next_step_;
  if (!leading_) {
    if (!watch_.HasListedAfter(acquired_at_))
      return std::min(next_step_, lease_clock_.Monotonic() + kTakeOverCheck);
    Lead();
  }
  if (!may_bind_) {
    watch_.ListPodsAfter(bind_from_);
    may_bind_ = watch_.HasListedPodsAfter(bind_from_);
    if (!may_bind_) return std::min(next_step_, lease_clock_.Monotonic() + kTakeOverCheck);
    wake_();
  }
  return next_step_;
}

void Replica::StepElection() {
  if (lease_clock_.Monotonic() < next_step_) return;
  const absl::Time began = clock_.Monotonic();
  const absl::Time renewed_before = elector_->renewed_at();
  next_step_ = elector_->Step(lease_clock_.Monotonic());
  if (elector_->renewed_at() != renewed_before) {
    MutexLock lock(mu_);
    confirmed_at_ = began;
  }
  UpdateStandbyAddress();
}

// Otherwise a candidate that may not access the lease would wait forever in silence.
void Replica::LogLeaseFailure(const absl::Status& why) {
  const std::string lease = kube::ToString(options_.election->lease);
  MUSTER_LOG_LIMITED(WARN, absl::StrCat(lease, " ", why.message()),
                     leading_ ? "lease not renewed" : "lease not acquired", {"lease", lease},
                     {"error", why});
}

void Replica::UpdateStandbyAddress() {
  if (elector_->state() != kube::LeaderElector::State::kStandby) return;
  const kube::Labels annotations = elector_->holder_annotations();
  const auto address = annotations.find(kCoordinatorAnnotation);
  const std::string leader = address == annotations.end() ? "" : address->second;
  registry_.SetStandby(leader);
  node_board_.SetStandby(leader);
}

void Replica::TakeOver() {
  acquired_at_ = clock_.Monotonic();
  bind_from_ = elector_->was_released() ? acquired_at_ : acquired_at_ + LongestWrite();
  watch_.ListAfter(acquired_at_);
  MUSTER_LOG(INFO, "lease acquired", {"identity", options_.identity}, {"term", elector_->term()});
}

void Replica::Lead() {
  Controller::Leadership leadership;
  if (elector_ != nullptr) {
    leadership.lease_term = elector_->term();
    leadership.renewed_at = [this] {
      MutexLock lock(mu_);
      return confirmed_at_;
    };
  }
  controller_->Lead(std::move(leadership));
  registry_.SetLeader();
  node_board_.SetLeader();
  leading_ = true;
  metrics_.LeaderChanged();
  Resync();
  wake_();
  MUSTER_LOG(INFO, "leading", {"identity", options_.identity}, {"jobs", jobs().size()});
}

void Replica::Lose(const absl::Status& why) {
  if (leading_.exchange(false)) metrics_.LeaderChanged();
  may_bind_ = false;
  {
    MutexLock lock(mu_);
    lost_ = why;
  }
  const std::string leader = elector_->holder() == options_.identity
                                 ? ""
                                 : elector_->holder_annotations()[kCoordinatorAnnotation];
  registry_.SetStandby(leader);
  node_board_.SetStandby(leader);
  const absl::Status reason = absl::UnavailableError("this operator lost its lease");
  registry_.CloseAll(reason);
  node_board_.CloseAll(reason);
  MUSTER_LOG(ERROR, "lease lost", {"identity", options_.identity}, {"error", why});
}

absl::Status Replica::lost() const {
  MutexLock lock(mu_);
  return lost_;
}

absl::Status Replica::Release() {
  leading_ = false;
  return elector_ == nullptr ? absl::OkStatus() : elector_->Release();
}

bool Replica::ReconcileNext() {
  const std::optional<std::string> key = queue_.TryGet();
  if (!key) return false;
  Reconcile(*key);
  queue_.Done(*key);
  return true;
}

void Replica::Reconcile(const std::string& key) {
  const absl::Time start = clock_.Monotonic();
  const absl::StatusOr<ReconcileResult> result = controller_->RunOnce(key);
  const absl::Duration took = clock_.Monotonic() - start;
  if (result.ok()) {
    metrics_.Observe("success", took);
    queue_.Forget(key);
    if (result->requeue_after && result->when_idle) {
      queue_.AddWhenIdle(key, *result->requeue_after);
    } else if (result->requeue_after) {
      queue_.AddAfter(key, *result->requeue_after);
    }
    return;
  }
  if (kube::IsFenced(result.status())) return;  // the next leader takes over
  if (IsTerminal(result.status())) {
    metrics_.Observe("terminal", took);
    queue_.Forget(key);
    MUSTER_LOG(ERROR, "reconcile failed and is not tried again before the job changes",
               {"job", key}, {"error", result.status()});
    return;
  }
  const bool conflict = absl::IsAborted(result.status());
  metrics_.Observe(conflict ? "conflict" : "error", took);
  queue_.AddRateLimited(key);
  // A single conflict is normal between two writers; many in a row are somebody's fault.
  const std::optional<WorkQueue::KeyState> state = queue_.Find(key);
  if (conflict && (!state || state->failures < kConflictsToTell)) return;
  MUSTER_LOG_LIMITED(WARN, absl::StrCat(key, " ", result.status().message()), "reconcile failed",
                     {"job", key}, {"error", result.status()});
}

// A failed read keeps the previous levels.
void Replica::FollowTopology() {
  const absl::Time now = clock_.Monotonic();
  if (options_.kueue_topology.empty() || now < next_topology_) return;
  next_topology_ = now + kTopologyPeriod;
  absl::StatusOr<std::vector<std::string>> levels =
      ReadKueueLevels(open_api_, options_.kueue_topology);
  if (levels.ok()) scheduler_.SetTopologyLevels(*std::move(levels));
  if (!topology_asked_.exchange(true)) wake_();
  if (levels.ok()) return;
  MUSTER_LOG_LIMITED(WARN, options_.kueue_topology, "topology not read",
                     {"topology", options_.kueue_topology}, {"error", levels.status()});
}

// While the pods of a burst of jobs are created, scheduling, binding and idle reconciles wait.
void Replica::DeferNonUrgentWork(bool held) {
  queue_.HoldIdle(held);
  scheduler_.writer().Hold(held);
  if (!held) wake_();
}

int Replica::Schedule() {
  if (!leading_) {
    scheduler_.Follow();
    return 0;
  }
  const absl::Time now = clock_.Monotonic();
  if (next_resync_ == absl::InfiniteFuture()) next_resync_ = now + options_.resync;
  if (now >= next_resync_) {
    next_resync_ = now + options_.resync;
    Resync();
  }
  return may_bind_ && topology_asked_ && !urgency_.held() ? scheduler_.RunOnce() : 0;
}

int Replica::WriteQueues() {
  if (!leading_ || watch_.queues().size() == 0) return 0;
  return queue_status_.RunOnce(clock_.Wall(), scheduler_.Queues(0));
}

int Replica::WriteNodes() {
  if (!leading_) return 0;
  if (!std::exchange(writes_nodes_, true)) node_writer_.Lead();
  const int writes = node_writer_.RunOnce();
  return options_.taint_unhealthy_nodes ? writes + node_tainter_.RunOnce() : writes;
}

int Replica::Warn() {
  return leading_ && may_bind_ ? warnings_.RunOnce(scheduler_.TopologyFindings()) : 0;
}

void Replica::Resync() {
  for (const JobCache::Object& job : jobs().List()) {
    queue_.Add(kube::ToString({job->ns, job->name}));
  }
}

}  // namespace muster::control
