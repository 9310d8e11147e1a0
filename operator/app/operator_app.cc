#include "operator/app/operator_app.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/private_files.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "operator/app/cluster_watch.h"
#include "operator/app/operator_servers.h"
#include "operator/app/replica.h"
#include "operator/app/start_retry.h"
#include "operator/kube/cache/reflector.h"
#include "operator/notify/http_sender.h"
#include "operator/notify/notifier.h"
#include "operator/notify/receivers.h"
#include "operator/reconcile/fan_out.h"
#include "operator/scheduler/record/decision_recorder.h"
#include "operator/scheduler/record/decision_ring.h"

namespace muster::control {
namespace {

constexpr absl::Duration kWatchWait = absl::Milliseconds(200);
constexpr absl::Duration kSchedulePeriod = absl::Milliseconds(500);
constexpr absl::Duration kLongestRest = absl::Milliseconds(50);
// The period of writes to queues' status.
constexpr absl::Duration kQueuePeriod = absl::Seconds(2);

// Pods of one job created at a time, in addition to those of the other reconciles.
constexpr int kCreateHelpers = 15;

std::unique_ptr<DecisionRecorder> RecorderFor(const OperatorOptions& options) {
  if (options.decision_log_dir.empty()) return nullptr;
  return std::make_unique<DecisionRecorder>(
      DecisionRing(PrivateFileSystem(), options.decision_log_dir));
}

ReplicaOptions ToReplica(const OperatorOptions& options, FanOut& fan_out, Notifier& notifier,
                         DecisionRecorder* recorder) {
  ReplicaOptions replica;
  replica.fan_out = &fan_out;
  replica.notifier = &notifier;
  replica.decide.alert_interval = options.alert_interval;
  replica.decide.alert_receivers = ReceiverNames(options.alert_receivers);
  replica.prices = &options.prices;
  replica.decide.currency = options.prices.currency;
  replica.namespace_scope = options.namespace_scope;
  replica.identity = options.identity;
  replica.taint_unhealthy_nodes = options.taint_unhealthy_nodes;
  if (options.job_network_policies) replica.policy_namespace = options.operator_namespace;
  replica.election = options.election;
  replica.scheduler.topology_levels = options.topology_levels;
  replica.scheduler.writes_apart = true;
  replica.scheduler.write_threads = options.bind_threads;
  replica.events_apart = true;
  replica.decide.prepare_deadline = options.prepare_deadline;
  replica.decide.join_deadline = options.join_deadline;
  replica.decide.max_savers_per_storage = options.max_savers_per_storage;
  replica.kueue_topology = options.kueue_topology;
  replica.decide.orphan_deadline = options.orphan_deadline;
  replica.scheduler.queues.links = options.topology_links;
  replica.scheduler.book.half_life = options.queue_half_life;
  replica.scheduler.book.aging = options.queue_aging;
  replica.scheduler.queues.defragment = options.defragment;
  replica.scheduler.recorder = recorder;
  replica.jitter = [] {
    thread_local std::mt19937 random{std::random_device{}()};
    return std::uniform_real_distribution<>(0, 1)(random);
  };
  return replica;
}

}  // namespace

class OperatorApp::Impl {
 public:
  Impl(kube::Api& api, const Clock& clock, OperatorOptions options)
      : clock_(clock),
        lease_clock_(options.lease_clock == nullptr ? clock : *options.lease_clock),
        options_(std::move(options)),
        recorder_(RecorderFor(options_)),
        notifier_(options_.alert_receivers, alert_sender_, clock),
        replica_(api, clock, lease_clock_,
                 ToReplica(options_, fan_out_, notifier_, recorder_.get())),
        servers_(replica_, clock, options_) {
    replica_.OnWork([this] { WakeScheduler(); });
    notifier_.Observe(replica_.metrics());
    if (options_.throttle != nullptr) options_.throttle->ConnectTo(&replica_.metrics());
  }
  ~Impl() {
    if (options_.throttle != nullptr) options_.throttle->ConnectTo(nullptr);
  }

  absl::Status Start();
  void Stop();

  const OperatorServers& servers() const { return servers_; }
  Replica& replica() { return replica_; }

 private:
  absl::Status WaitSynced();
  // Starts the threads that decide, write and tell.
  void StartWorkers();
  void Reflect(kube::Reflector& reflector);
  void Reconcile();
  void Schedule();
  void Elect();
  void TellQueues();
  void WakeScheduler();
  void Wake();

  const Clock& clock_;
  const Clock& lease_clock_;
  const OperatorOptions options_;
  ThreadFanOut fan_out_{kCreateHelpers};
  const std::unique_ptr<DecisionRecorder> recorder_;  // null if decisions are not kept
  HttpSender alert_sender_;
  Notifier notifier_;
  Replica replica_;
  OperatorServers servers_;

  std::atomic<bool> stopping_{false};  // no new work is accepted
  std::atomic<bool> ended_{false};     // reads and elections have ended, too
  std::vector<std::thread> workers_;
  std::vector<std::thread> watchers_;
  std::thread event_sender_;
  std::thread elector_;
  Mutex mu_;
  CondVar wake_;
  bool look_ MUSTER_GUARDED_BY(mu_) = true;
};

void OperatorApp::Impl::WakeScheduler() {
  MutexLock lock(mu_);
  look_ = true;
  wake_.NotifyAll();
}

void OperatorApp::Impl::Wake() {
  MutexLock lock(mu_);
  wake_.NotifyAll();
}

void OperatorApp::Impl::Reflect(kube::Reflector& reflector) {
  while (!ended_) {
    reflector.RunOnce(kWatchWait);
    const absl::Duration pause = reflector.RetryAt() - clock_.Monotonic();
    if (pause <= absl::ZeroDuration()) continue;
    MutexLock lock(mu_);
    if (!ended_) wake_.WaitFor(mu_, std::min(pause, kWatchWait));
  }
}

void OperatorApp::Impl::Reconcile() {
  while (auto key = replica_.queue().Get()) {
    replica_.Reconcile(*key);
    replica_.queue().Done(*key);
  }
}

void OperatorApp::Impl::Schedule() {
  absl::Time rest_until = clock_.Monotonic();
  while (!stopping_) {
    {
      MutexLock lock(mu_);
      if (!look_ && !stopping_) wake_.WaitFor(mu_, kSchedulePeriod);
      // Cycles take longer in larger clusters, and a burst wakes this thread for every pod.
      while (!stopping_ && clock_.Monotonic() < rest_until) {
        wake_.WaitFor(mu_, rest_until - clock_.Monotonic());
      }
      look_ = false;
    }
    const absl::Time start = clock_.Monotonic();
    if (!stopping_) replica_.Schedule();
    const absl::Time end = clock_.Monotonic();
    rest_until = end + std::min(end - start, kLongestRest);
    FlushLimitedLogs();
  }
}

void OperatorApp::Impl::TellQueues() {
  while (!stopping_) {
    replica_.FollowTopology();
    replica_.WriteQueues();
    replica_.WriteNodes();
    replica_.Warn();
    const absl::Time until = clock_.Monotonic() + kQueuePeriod;
    MutexLock lock(mu_);
    while (!stopping_ && clock_.Monotonic() < until) {
      wake_.WaitFor(mu_, until - clock_.Monotonic());
    }
  }
}

void OperatorApp::Impl::Elect() {
  while (!ended_) {
    const absl::Time next = replica_.Elect();
    if (const absl::Status lost = replica_.lost(); !lost.ok()) {
      if (options_.on_lost) options_.on_lost(lost);
      return;
    }
    const absl::Time until = std::min(next, lease_clock_.Monotonic() + kSchedulePeriod);
    MutexLock lock(mu_);
    while (!ended_ && lease_clock_.Monotonic() < until) {
      wake_.WaitFor(mu_, until - lease_clock_.Monotonic());
    }
  }
}

absl::Status OperatorApp::Impl::WaitSynced() {
  const absl::Time start = clock_.Monotonic();
  MutexLock lock(mu_);
  while (!replica_.HasSynced()) {
    const absl::Duration waited = clock_.Monotonic() - start;
    const ClusterWatch::ListFailure failure = replica_.list_failure();
    if (SyncTookTooLong(waited, failure.at - start)) {
      return absl::DeadlineExceededError(
          absl::StrCat("the API server's objects could not be listed: ", failure.status.message()));
    }
    wake_.WaitFor(mu_, absl::Milliseconds(2));
  }
  ::malloc_trim(0);  // memory that the lists used and the caches do not keep
  return absl::OkStatus();
}

absl::Status OperatorApp::Impl::Start() {
  MUSTER_RETURN_IF_ERROR(servers_.Start());
  for (kube::Reflector* reflector : replica_.reflectors()) {
    watchers_.emplace_back([this, reflector] { Reflect(*reflector); });
  }
  for (kube::Reflector* reflector : replica_.side_reflectors()) {
    watchers_.emplace_back([this, reflector] { Reflect(*reflector); });
  }
  if (absl::Status status = WaitSynced(); !status.ok()) {
    Stop();
    return status;
  }
  if (options_.election) {
    elector_ = std::thread([this] { Elect(); });
  } else {
    replica_.Elect();
  }
  StartWorkers();
  MUSTER_LOG(INFO, "operator started", {"coordinator", servers_.coordinator_address()},
             {"http", servers_.http_address()}, {"jobs", replica_.jobs().size()});
  return absl::OkStatus();
}

void OperatorApp::Impl::StartWorkers() {
  event_sender_ = std::thread([this] {
    while (replica_.events().WaitAndRun()) {
    }
  });
  for (size_t i = 0; i < notifier_.receivers(); ++i) {
    workers_.emplace_back([this, i] {
      while (notifier_.WaitAndRun(i)) {
      }
    });
  }
  workers_.emplace_back([this] { Schedule(); });
  workers_.emplace_back([this] { TellQueues(); });
  if (recorder_ != nullptr) {
    workers_.emplace_back([this] {
      while (recorder_->WaitAndRun()) {
      }
    });
  }
  for (int i = 0; i < options_.bind_threads; ++i) {
    workers_.emplace_back([this] {
      while (replica_.pod_writer().WaitAndRun()) {
      }
    });
  }
  for (int i = 0; i < options_.reconcile_threads; ++i) {
    workers_.emplace_back([this] { Reconcile(); });
  }
}

void OperatorApp::Impl::Stop() {
  if (stopping_.exchange(true)) return;
  replica_.queue().Shutdown();
  replica_.pod_writer().Shutdown();
  notifier_.Shutdown();
  if (recorder_ != nullptr) recorder_->Shutdown();
  Wake();
  for (std::thread& thread : workers_) thread.join();
  // No thread records events any more.
  replica_.events().Shutdown();
  if (event_sender_.joinable()) event_sender_.join();
  // A leader that pauses here must not let its lease run on, so elections end after the last write.
  ended_ = true;
  Wake();
  if (elector_.joinable()) elector_.join();
  // Every write has ended, so the next leader need not wait.
  if (const absl::Status status = replica_.Release(); !status.ok()) {
    MUSTER_LOG(WARN, "lease not released", {"error", status});
  }
  servers_.StopCoordinator();
  for (std::thread& thread : watchers_) thread.join();
  servers_.CloseHttp();
  FlushLimitedLogs(/*all=*/true);
  MUSTER_LOG(INFO, "operator stopped");
}

OperatorApp::OperatorApp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OperatorApp::~OperatorApp() { Stop(); }

absl::StatusOr<std::unique_ptr<OperatorApp>> OperatorApp::Create(kube::Api& api, const Clock& clock,
                                                                 OperatorOptions options) {
  if (options.reconcile_threads < 1) {
    return absl::InvalidArgumentError("reconcile_threads must be at least 1");
  }
  if (options.bind_threads < 1) {
    return absl::InvalidArgumentError("bind_threads must be at least 1");
  }
  if (options.identity.empty()) {
    char host[256] = "localhost";
    ::gethostname(host, sizeof(host) - 1);
    options.identity = absl::StrCat("muster-operator/", host, "/", ::getpid(), "-",
                                    absl::Hex(std::random_device{}(), absl::kZeroPad8));
  }
  return std::unique_ptr<OperatorApp>(
      new OperatorApp(std::make_unique<Impl>(api, clock, std::move(options))));
}

absl::Status OperatorApp::Start() { return impl_->Start(); }
void OperatorApp::Stop() { impl_->Stop(); }
std::string OperatorApp::coordinator_address() const {
  return impl_->servers().coordinator_address();
}
std::string OperatorApp::http_address() const { return impl_->servers().http_address(); }
std::string OperatorApp::probe_address() const { return impl_->servers().probe_address(); }
AgentRegistry& OperatorApp::agents() { return impl_->replica().registry(); }
ProgressBoard& OperatorApp::progress() { return impl_->replica().progress(); }
const CoordinatorIdentity* OperatorApp::coordinator_identity() const {
  return impl_->servers().identity();
}
bool OperatorApp::IsLeading() const { return impl_->replica().IsLeading(); }
absl::Status OperatorApp::lost() const { return impl_->replica().lost(); }

}  // namespace muster::control
