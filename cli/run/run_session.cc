#include "cli/run/run_session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/private_files.h"
#include "base/logging.h"
#include "base/process/process.h"
#include "base/status_macros.h"
#include "cli/jobs/agent_records.h"
#include "cli/jobs/apply.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/local_jobs.h"
#include "cli/jobs/socket_folder.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

// Processes that no command watches should not stay in the background for hours.
constexpr absl::Duration kOrphanDeadline = absl::Seconds(60);
constexpr absl::Duration kWorkersEndWithin = absl::Seconds(10);

int CpusOfThisMachine() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

RunSession::RunSession(JobPaths paths, SessionOptions options)
    : paths_(std::move(paths)), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<RunSession>> RunSession::Open(const JobPaths& paths,
                                                             SessionOptions options) {
  std::unique_ptr<RunSession> session(new RunSession(paths, std::move(options)));
  MUSTER_RETURN_IF_ERROR(session->Start());
  return session;
}

absl::Status RunSession::Start() {
  MUSTER_RETURN_IF_ERROR(PrivateFileSystem().MakeDirectories(paths_.pods()));
  kube::MemoryApiOptions api;
  api.directory = paths_.api();
  api.random = [engine = std::mt19937_64(std::random_device{}())]() mutable { return engine(); };
  auto opened = kube::MemoryApi::Open(Clock::Real(), std::move(api));
  if (absl::IsUnavailable(opened.status())) {
    const auto live = FindLiveOperator(FileSystem(), paths_);
    return absl::FailedPreconditionError(
        absl::StrCat("job ", paths_.job, " is running already",
                     live ? absl::StrCat(" (pid ", live->pid, ")") : "",
                     "; look at it with: ", paths_.Hint("describe")));
  }
  if (!opened.ok()) return opened.status();
  api_ = *std::move(opened);
  MUSTER_ASSIGN_OR_RETURN(history_, History::Open(PrivateFileSystem(), paths_.history()));
  MUSTER_RETURN_IF_ERROR(AddTo(*history_, ReadAgentRecords(FileSystem(), paths_)));
  // They are in the history now, so what stays is not taken in again.
  RemoveAgentRecords(FileSystem(), paths_).IgnoreError();

  // The machine is registered before the operator starts, so that no job is refused for lack of it.
  control::LocalNodesOptions nodes;
  nodes.nodes = {{.name = "local",
                  .gpus = static_cast<int>(options_.gpus.size()),
                  .gpu_uuids = options_.gpus,
                  .cpus = CpusOfThisMachine()}};
  nodes.agent_path = options_.agent;
  nodes.trainer_path = options_.trainer;
  nodes.state_dir = paths_.folder();
  nodes_ = std::make_unique<control::LocalNodes>(std::move(nodes), *api_, ProcessLauncher::Real(),
                                                 Clock::Real());
  MUSTER_RETURN_IF_ERROR(nodes_->Register());

  control::OperatorOptions app;
  MUSTER_ASSIGN_OR_RETURN(const std::string sockets,
                          MakeSocketFolder(paths_, SocketPlaces::OfThisUser()));
  app.coordinator_addresses = {absl::StrCat("unix:", JoinPath(sockets, paths_.socket_name()))};
  app.http.address = options_.http.empty()
                         ? absl::StrCat("unix:", JoinPath(sockets, paths_.http_socket_name()))
                         : options_.http;
  app.http.token_file = paths_.http_token();
  app.decision_log_dir = paths_.decisions();
  app.orphan_deadline = kOrphanDeadline;
  app.alert_receivers = options_.alert_receivers;
  MUSTER_ASSIGN_OR_RETURN(app_, control::OperatorApp::Create(*api_, Clock::Real(), std::move(app)));
  MUSTER_RETURN_IF_ERROR(app_->Start());
  MUSTER_RETURN_IF_ERROR(WriteLiveOperator(PrivateFileSystem(), paths_, app_->http_address()));
  nodes_thread_ = std::thread([this] { RunNodes(); });
  return absl::OkStatus();
}

RunSession::~RunSession() {
  stopping_ = true;
  if (nodes_thread_.joinable()) nodes_thread_.join();
  if (app_ != nullptr) app_->Stop();
}

void RunSession::RunNodes() {
  std::string last_error;
  while (!stopping_) {
    if (killing_) {
      nodes_->StopAll(absl::ZeroDuration());
      return;
    }
    const absl::Status status = nodes_->RunOnce(absl::Milliseconds(100));
    if (!status.ok() && status.ToString() != last_error) {
      MUSTER_LOG(WARN, "local nodes", {"error", status});
    }
    last_error = status.ok() ? "" : status.ToString();
  }
}

void RunSession::WaitForWorkers() {
  const absl::Time deadline = Clock::Real().Monotonic() + kWorkersEndWithin;
  while (Clock::Real().Monotonic() < deadline) {
    const absl::StatusOr<kube::ObjectList> pods = api_->List(kube::kPods, {});
    if (!pods.ok()) return;
    bool running = false;
    for (const Json& pod : pods->items) {
      const std::string phase = kube::StringAt(pod, {"status", "phase"});
      running |= phase != "Succeeded" && phase != "Failed";
    }
    if (!running) return;
    absl::SleepFor(absl::Milliseconds(10));
  }
}

void RunSession::KillWorkers() {
  killing_ = true;
  if (nodes_thread_.joinable()) nodes_thread_.join();
}

absl::StatusOr<bool> RunSession::Apply(const TrainingJob& job) {
  key_ = {job.ns, job.name};
  MUSTER_ASSIGN_OR_RETURN(const Applied applied,
                          ApplyJob(*api_, *api_, job, history_->last_step()));
  uid_ = applied.uid;
  return !applied.ended_before;
}

bool RunSession::AnyWorkerIsPlaced() {
  const absl::StatusOr<kube::ObjectList> pods = api_->List(kube::kPods, {});
  if (!pods.ok()) return true;  // unknown
  return std::any_of(pods->items.begin(), pods->items.end(), [](const Json& pod) {
    return !kube::StringAt(pod, {"spec", "nodeName"}).empty();
  });
}

absl::Status RunSession::SetSuspended(bool suspended) {
  return SetJobSuspended(*api_, key_, suspended);
}

absl::StatusOr<TrainingJob> RunSession::Job() { return GetJob(*api_, key_); }

absl::Status RunSession::TakeSteps() {
  // After a restart the board is empty and agents continue from their current step, so no step
  // repeats; a board that went back to an older step returns the redone steps again.
  const auto snapshot = app_->progress().Snapshot(uid_);
  int64_t after = history_->last_step();
  if (snapshot.last_step && snapshot.last_step->version().step() < after) {
    after = snapshot.last_step->version().step() - 1;
  }
  for (const auto& step : app_->progress().StepsSince(uid_, after, 4096)) {
    MUSTER_RETURN_IF_ERROR(history_->Add(step));
  }
  return absl::OkStatus();
}

ProgressView RunSession::Progress(const TrainingJob& job) {
  ProgressView view;
  const auto snapshot = app_->progress().Snapshot(uid_);
  view.state = job.status.state().empty() ? "Pending" : job.status.state();
  const NotTraining words = WhyNotTraining(job);
  view.reason = words.reason;
  view.why = words.sentence;
  view.step = history_->last_step();
  view.steps = job.spec.trainer().train().steps();
  // A command states its number of steps with its reports.
  if (!job.spec.has_trainer() && snapshot.last_step) view.steps = snapshot.last_step->total_steps();
  if (!history_->steps().empty()) view.loss = history_->steps().rbegin()->second.loss();
  view.validation_loss = history_->last_validation_loss();
  view.tokens_per_second = snapshot.tokens_per_second;
  view.steps_per_second = snapshot.steps_per_second;
  view.ready = job.status.workers().ready();
  view.desired = job.status.workers().desired();
  view.round = job.status.round();
  return view;
}

}  // namespace muster::cli
