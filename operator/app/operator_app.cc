#include "operator/app/operator_app.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/private_files.h"
#include "base/status_macros.h"
#include "base/unix_socket.h"
#include "operator/app/cache_sync_timeout.h"
#include "operator/app/cluster_watch.h"
#include "operator/app/http_servers.h"
#include "operator/app/replica.h"
#include "operator/coordinator/coordinator_server.h"
#include "operator/coordinator/refusals.h"
#include "operator/kube/cache/reflector.h"
#include "operator/reconcile/fan_out.h"
#include "operator/reconcile/pod_builder.h"
#include "operator/reconcile/worker_directory.h"
#include "operator/scheduler/record/decision_recorder.h"
#include "operator/scheduler/record/decision_ring.h"
#include "operator/web/web_deps.h"

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

std::function<absl::StatusOr<DecisionRecord>(uint64_t)> DecisionsOf(
    const OperatorOptions& options) {
  if (options.decision_log_dir.empty()) return nullptr;
  return [directory = options.decision_log_dir](uint64_t id) {
    return FindDecision(FileSystem(), directory, id);
  };
}

ReplicaOptions ToReplica(const OperatorOptions& options, FanOut& fan_out,
                         DecisionRecorder* recorder) {
  ReplicaOptions replica;
  replica.fan_out = &fan_out;
  replica.namespace_scope = options.namespace_scope;
  replica.identity = options.identity;
  replica.election = options.election;
  replica.scheduler.topology_levels = options.topology_levels;
  replica.scheduler.writes_apart = true;
  replica.scheduler.write_threads = options.bind_threads;
  replica.events_apart = true;
  replica.decide.prepare_deadline = options.prepare_deadline;
  replica.decide.join_deadline = options.join_deadline;
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
        replica_(api, clock, lease_clock_, ToReplica(options_, fan_out_, recorder_.get())) {
    replica_.OnWork([this] { WakeScheduler(); });
    if (options_.throttle != nullptr) options_.throttle->ConnectTo(&replica_.metrics());
  }
  ~Impl() {
    if (options_.throttle != nullptr) options_.throttle->ConnectTo(nullptr);
  }

  absl::Status Start();
  void Stop();

  std::string coordinator_address() const { return coordinator_address_; }
  std::string http_address() const { return http_ == nullptr ? "" : http_->address(); }
  std::string probe_address() const { return http_ == nullptr ? "" : http_->probe_address(); }
  Replica& replica() { return replica_; }
  const CoordinatorIdentity* identity() const { return identity_.get(); }

 private:
  absl::Status StartServers();
  absl::Status WaitSynced();
  LeaderView Leader() const;
  void Reflect(kube::Reflector& reflector);
  void Reconcile();
  void Schedule();
  void Elect();
  void TellQueues();
  void WakeScheduler();
  void Wake();

  absl::Status StartCoordinator();
  std::map<std::string, int64_t> Refusals() const;
  std::map<std::string, absl::Time> Certificates() const;

  const Clock& clock_;
  const Clock& lease_clock_;
  const OperatorOptions options_;
  ThreadFanOut fan_out_{kCreateHelpers};
  const std::unique_ptr<DecisionRecorder> recorder_;  // null if decisions are not kept
  Replica replica_;
  std::string coordinator_address_;
  std::unique_ptr<CoordinatorIdentity> identity_;
  std::unique_ptr<CoordinatorServer> coordinator_;
  std::unique_ptr<HttpServers> http_;

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

absl::Status OperatorApp::Impl::StartCoordinator() {
  const std::vector<std::string>& addresses = options_.coordinator_addresses;
  if (addresses.empty()) {
    return absl::InvalidArgumentError("the operator needs an address for its coordinator");
  }
  if (NeedsIdentity(options_.http) ||
      !std::all_of(addresses.begin(), addresses.end(), IsUnixAddress)) {
    CoordinatorIdentityOptions options;
    options.operator_namespace = options_.operator_namespace;
    options.find_worker = [this](const ReviewedPod& pod) {
      return FindWorkerOfPod(replica_.jobs(), replica_.pods(), pod);
    };
    MUSTER_ASSIGN_OR_RETURN(identity_, CoordinatorIdentity::Create(replica_.observed_api(), clock_,
                                                                   std::move(options)));
  }
  MUSTER_ASSIGN_OR_RETURN(
      coordinator_, CoordinatorServer::Start(addresses, replica_.registry(), identity_.get()));
  coordinator_address_ = options_.advertised_coordinator.empty() ? coordinator_->addresses().front()
                                                                 : options_.advertised_coordinator;
  const std::string dialed =
      options_.pod_coordinator.empty() ? coordinator_address_ : options_.pod_coordinator;
  PodBuilderOptions pods{dialed, options_.worker_image};
  if (identity_ != nullptr && !IsUnixAddress(dialed)) {
    pods.coordinator_ca = identity_->authority_pem();
    if (options_.election) {
      pods.coordinator_silence = absl::FormatDuration(options_.election->lease_duration / 2);
    }
  }
  replica_.Connect(pods, coordinator_address_);
  return absl::OkStatus();
}

absl::Status OperatorApp::Impl::StartServers() {
  MUSTER_RETURN_IF_ERROR(StartCoordinator());
  const WebDeps deps = {replica_.fenced_api(),
                        replica_.jobs(),
                        replica_.pods(),
                        replica_.nodes(),
                        replica_.registry(),
                        replica_.progress(),
                        replica_.controller(),
                        replica_.scheduler(),
                        replica_.queue(),
                        replica_.metrics(),
                        [this] { return replica_.HasSynced(); },
                        [this] { return Leader(); },
                        [this] { return Refusals(); },
                        [this] { return Certificates(); },
                        DecisionsOf(options_)};
  MUSTER_ASSIGN_OR_RETURN(http_, HttpServers::Open(options_.http, deps, replica_.observed_api(),
                                                   clock_, identity_.get()));
  return absl::OkStatus();
}

std::map<std::string, int64_t> OperatorApp::Impl::Refusals() const {
  std::map<std::string, int64_t> by_reason;
  if (identity_ == nullptr) return by_reason;
  const IdentityCounters counters = identity_->counters();
  for (size_t i = 0; i < counters.refused.size(); ++i) {
    by_reason[std::string(Name(static_cast<Refusal>(i)))] = counters.refused[i];
  }
  return by_reason;
}

std::map<std::string, absl::Time> OperatorApp::Impl::Certificates() const {
  if (identity_ == nullptr) return {};
  return {{"authority", identity_->authority_not_after()},
          {"serving", identity_->serving_not_after()}};
}

LeaderView OperatorApp::Impl::Leader() const {
  LeaderView view;
  view.leading = replica_.IsLeading();
  view.identity = options_.identity;
  view.holder = replica_.lease_holder();
  view.lease_term = replica_.lease_term();
  view.lost = std::string(replica_.lost().message());
  return view;
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
  MUSTER_RETURN_IF_ERROR(StartServers());
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
  event_sender_ = std::thread([this] {
    while (replica_.events().WaitAndRun()) {
    }
  });
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
  MUSTER_LOG(INFO, "operator started", {"coordinator", coordinator_address_},
             {"http", http_address()}, {"jobs", replica_.jobs().size()});
  return absl::OkStatus();
}

void OperatorApp::Impl::Stop() {
  if (stopping_.exchange(true)) return;
  replica_.queue().Shutdown();
  replica_.pod_writer().Shutdown();
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
  if (coordinator_ != nullptr) coordinator_->Stop();
  for (std::thread& thread : watchers_) thread.join();
  if (http_ != nullptr) http_->Close();
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
std::string OperatorApp::coordinator_address() const { return impl_->coordinator_address(); }
std::string OperatorApp::http_address() const { return impl_->http_address(); }
std::string OperatorApp::probe_address() const { return impl_->probe_address(); }
AgentRegistry& OperatorApp::agents() { return impl_->replica().registry(); }
ProgressBoard& OperatorApp::progress() { return impl_->replica().progress(); }
const CoordinatorIdentity* OperatorApp::coordinator_identity() const { return impl_->identity(); }
bool OperatorApp::IsLeading() const { return impl_->replica().IsLeading(); }
absl::Status OperatorApp::lost() const { return impl_->replica().lost(); }

}  // namespace muster::control
