#include "operator/app/operator_app.h"

#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "operator/coordinator/coordinator_server.h"
#include "operator/core/gang.h"
#include "operator/core/options.h"
#include "operator/kube/cache.h"
#include "operator/kube/reflector.h"
#include "operator/kube/resource_type.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/event_recorder.h"
#include "operator/runtime/executor.h"
#include "operator/runtime/object_records.h"
#include "operator/runtime/scheduler.h"
#include "operator/runtime/work_queue.h"
#include "operator/web/metrics.h"
#include "operator/web/web_server.h"

namespace muster::control {
namespace {

constexpr absl::Duration kWatchWait = absl::Milliseconds(200);
constexpr absl::Duration kSchedulePeriod = absl::Milliseconds(500);
constexpr absl::Duration kSyncDeadline = absl::Seconds(30);

void LogParseError(const kube::ObjectKey& key, const absl::Status& status) {
  MUSTER_LOG(WARN, "object ignored", {"object", kube::ToString(key)}, {"error", status});
}

kube::ReflectorOptions ReflectorFor(const std::string& name_space) {
  kube::ReflectorOptions options;
  options.name_space = name_space;
  options.on_error = [](const absl::Status& status) {
    MUSTER_LOG(WARN, "list or watch failed", {"error", status});
  };
  return options;
}

}  // namespace

class OperatorApp::Impl {
 public:
  Impl(kube::Api& api, const Clock& clock, OperatorOptions options)
      : api_(api),
        clock_(clock),
        options_(std::move(options)),
        queue_(clock),
        jobs_(ParseTrainingJob, {{}, LogParseError}),
        pods_(ParsePodRecord, {{kJobLabel}, LogParseError}),
        nodes_(ParseNodeRecord, {{}, LogParseError}),
        registry_(clock, &progress_, [this](const std::string& key) { queue_.Add(key); }),
        events_(api, clock, options_.identity),
        scheduler_(api, jobs_, pods_, nodes_, [this](const std::string& key) { queue_.Add(key); }),
        jobs_reflector_(api, kube::kTrainingJobs, ReflectorFor(options_.namespace_scope), jobs_,
                        clock),
        // Every pod counts against a node's slots, whoever made it.
        pods_reflector_(api, kube::kPods, ReflectorFor(""), pods_, clock),
        nodes_reflector_(api, kube::kNodes, ReflectorFor(""), nodes_, clock) {
    Connect();
  }

  absl::Status Start();
  void Stop();

  std::string coordinator_address() const { return coordinator_address_; }
  std::string http_address() const { return web_ == nullptr ? "" : web_->address(); }
  AgentRegistry& agents() { return registry_; }
  ProgressBoard& progress() { return progress_; }

 private:
  void Connect();
  absl::Status StartServers();
  absl::Status WaitSynced();
  bool Synced() const { return jobs_.HasSynced() && pods_.HasSynced() && nodes_.HasSynced(); }
  void Reflect(kube::Reflector& reflector);
  void Reconcile();
  void ReconcileOne(const std::string& key);
  void Schedule();
  void WakeScheduler();

  kube::Api& api_;
  const Clock& clock_;
  const OperatorOptions options_;

  WorkQueue queue_;
  JobCache jobs_;
  PodCache pods_;
  NodeCache nodes_;
  ProgressBoard progress_;
  AgentRegistry registry_;
  EventRecorder events_;
  Scheduler scheduler_;
  ReconcileMetrics reconciles_;
  kube::Reflector jobs_reflector_;
  kube::Reflector pods_reflector_;
  kube::Reflector nodes_reflector_;
  // Made by Start, when the coordinator's real address is known.
  std::string coordinator_address_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<CoordinatorServer> coordinator_;
  std::unique_ptr<WebServer> web_;

  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
  Mutex mu_;
  CondVar wake_;
  bool look_ MUSTER_GUARDED_BY(mu_) = true;
};

void OperatorApp::Impl::Connect() {
  jobs_.OnChange([this](const kube::ObjectKey& key, const auto&, const auto&) {
    queue_.Add(kube::ToString(key));
    WakeScheduler();
  });
  pods_.OnChange([this](const kube::ObjectKey& key, const auto& before, const auto& after) {
    for (const auto& pod : {before, after}) {
      if (pod != nullptr && !pod->job.empty()) {
        queue_.Add(kube::ToString({key.name_space, pod->job}));
      }
    }
    WakeScheduler();
  });
  nodes_.OnChange([this](const kube::ObjectKey&, const auto&, const auto&) { WakeScheduler(); });
}

void OperatorApp::Impl::WakeScheduler() {
  MutexLock lock(mu_);
  look_ = true;
  wake_.NotifyAll();
}

void OperatorApp::Impl::Reflect(kube::Reflector& reflector) {
  while (!stopping_) {
    reflector.RunOnce(kWatchWait);
    const absl::Duration pause = reflector.RetryAt() - clock_.Monotonic();
    if (pause <= absl::ZeroDuration()) continue;
    MutexLock lock(mu_);
    if (!stopping_) wake_.WaitFor(mu_, std::min(pause, kWatchWait));
  }
}

void OperatorApp::Impl::ReconcileOne(const std::string& key) {
  const absl::Time start = clock_.Monotonic();
  const absl::StatusOr<ReconcileResult> result = controller_->RunOnce(key);
  const absl::Duration took = clock_.Monotonic() - start;
  if (result.ok()) {
    reconciles_.Observe("success", took);
    queue_.Forget(key);
    if (result->requeue_after) queue_.AddAfter(key, *result->requeue_after);
    return;
  }
  const bool conflict = absl::IsAborted(result.status());
  reconciles_.Observe(conflict ? "conflict" : "error", took);
  queue_.AddRateLimited(key);
  if (!conflict) MUSTER_LOG(WARN, "reconcile failed", {"job", key}, {"error", result.status()});
}

void OperatorApp::Impl::Reconcile() {
  while (auto key = queue_.Get()) {
    ReconcileOne(*key);
    queue_.Done(*key);
  }
}

void OperatorApp::Impl::Schedule() {
  while (!stopping_) {
    {
      MutexLock lock(mu_);
      if (!look_ && !stopping_) wake_.WaitFor(mu_, kSchedulePeriod);
      look_ = false;
    }
    if (!stopping_) scheduler_.RunOnce();
  }
}

absl::Status OperatorApp::Impl::StartServers() {
  if (options_.coordinator_addresses.empty()) {
    return absl::InvalidArgumentError("the operator needs an address for its coordinator");
  }
  MUSTER_ASSIGN_OR_RETURN(coordinator_,
                          CoordinatorServer::Start(options_.coordinator_addresses, registry_));
  coordinator_address_ = options_.advertised_coordinator.empty() ? coordinator_->addresses().front()
                                                                 : options_.advertised_coordinator;
  executor_ = std::make_unique<Executor>(
      api_, registry_, events_, PodBuilderOptions{coordinator_address_, options_.worker_image});
  controller_ = std::make_unique<Controller>(
      Controller::Deps{clock_, jobs_, pods_, registry_, progress_, *executor_, events_, scheduler_},
      DecideOptions{});
  if (options_.http_address.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(
      web_, WebServer::Start(options_.http_address,
                             {api_, jobs_, pods_, registry_, progress_, *controller_, scheduler_,
                              queue_, reconciles_, [this] { return Synced(); }}));
  return absl::OkStatus();
}

absl::Status OperatorApp::Impl::WaitSynced() {
  const absl::Time deadline = clock_.Monotonic() + kSyncDeadline;
  MutexLock lock(mu_);
  while (!Synced()) {
    if (clock_.Monotonic() >= deadline) {
      return absl::UnavailableError("the API server's objects could not be listed in time");
    }
    wake_.WaitFor(mu_, absl::Milliseconds(2));
  }
  return absl::OkStatus();
}

absl::Status OperatorApp::Impl::Start() {
  MUSTER_RETURN_IF_ERROR(StartServers());
  for (kube::Reflector* reflector : {&jobs_reflector_, &pods_reflector_, &nodes_reflector_}) {
    threads_.emplace_back([this, reflector] { Reflect(*reflector); });
  }
  // Decisions rest on complete caches only.
  if (absl::Status status = WaitSynced(); !status.ok()) {
    Stop();
    return status;
  }
  controller_->Lead();
  registry_.SetLeader();
  threads_.emplace_back([this] { Schedule(); });
  for (int i = 0; i < options_.reconcile_threads; ++i) {
    threads_.emplace_back([this] { Reconcile(); });
  }
  MUSTER_LOG(INFO, "operator started", {"coordinator", coordinator_address_},
             {"http", http_address()}, {"jobs", jobs_.size()});
  return absl::OkStatus();
}

void OperatorApp::Impl::Stop() {
  if (stopping_.exchange(true)) return;
  queue_.Shutdown();
  {
    MutexLock lock(mu_);
    wake_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (web_ != nullptr) web_->Stop();
  if (coordinator_ != nullptr) coordinator_->Stop();
  MUSTER_LOG(INFO, "operator stopped");
}

OperatorApp::OperatorApp(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OperatorApp::~OperatorApp() { Stop(); }

absl::StatusOr<std::unique_ptr<OperatorApp>> OperatorApp::Create(kube::Api& api, const Clock& clock,
                                                                 OperatorOptions options) {
  if (options.reconcile_threads < 1) {
    return absl::InvalidArgumentError("reconcile_threads must be at least 1");
  }
  if (options.identity.empty()) {
    char host[256] = "localhost";
    ::gethostname(host, sizeof(host) - 1);
    options.identity = absl::StrCat("muster-operator/", host, "/", ::getpid());
  }
  return std::unique_ptr<OperatorApp>(
      new OperatorApp(std::make_unique<Impl>(api, clock, std::move(options))));
}

absl::Status OperatorApp::Start() { return impl_->Start(); }
void OperatorApp::Stop() { impl_->Stop(); }
std::string OperatorApp::coordinator_address() const { return impl_->coordinator_address(); }
std::string OperatorApp::http_address() const { return impl_->http_address(); }
AgentRegistry& OperatorApp::agents() { return impl_->agents(); }
ProgressBoard& OperatorApp::progress() { return impl_->progress(); }

}  // namespace muster::control
