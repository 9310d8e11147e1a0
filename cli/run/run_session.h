#ifndef MUSTER_CLI_RUN_RUN_SESSION_H_
#define MUSTER_CLI_RUN_RUN_SESSION_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/flags/job_paths.h"
#include "cli/jobs/history.h"
#include "cli/show/progress_line.h"
#include "operator/api/training_job.h"
#include "operator/app/operator_app.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/local/local_nodes.h"
#include "operator/notify/receivers.h"

namespace muster::cli {

struct SessionOptions {
  std::string agent;    // path of muster-agent
  std::string trainer;  // path of muster-trainer
  // Address of metrics, health and the JSON API: loopback host:port; empty: a socket of this user.
  std::string http;
  // The UUIDs of the GPUs that workers are given.
  std::vector<std::string> gpus;
  // The receivers that alert rules of the job may name.
  std::vector<control::Receiver> alert_receivers;
};

// One job on this machine: the embedded API with its files, the operator over it, and LocalNodes
// that run its pods. When opened again after a crash, it takes over the running workers. Open and
// the destructor are called by one thread; LocalNodes runs on an internal thread.
class RunSession {
 public:
  // FailedPrecondition, with the pid, if another process runs this job.
  static absl::StatusOr<std::unique_ptr<RunSession>> Open(const JobPaths& paths,
                                                          SessionOptions options);
  ~RunSession();

  // Applies the job by ApplyJob(). `job` has absolute paths. False: it had succeeded, nothing runs.
  absl::StatusOr<bool> Apply(const control::TrainingJob& job);
  absl::Status SetSuspended(bool suspended);

  const JobPaths& paths() const { return paths_; }
  absl::StatusOr<control::TrainingJob> Job();
  // Adds the steps reported since the last call to the history.
  absl::Status TakeSteps();
  ProgressView Progress(const control::TrainingJob& job);
  const History& history() const { return *history_; }

  // Returns true if a worker of the job is on this machine, or was assigned to it.
  bool AnyWorkerIsPlaced();
  // Waits until all workers have ended, for at most 10s: the job is over, and they have nothing
  // left to save.
  void WaitForWorkers();
  // Kills all workers of the job at once, without a checkpoint.
  void KillWorkers();

 private:
  RunSession(JobPaths paths, SessionOptions options);
  absl::Status Start();
  void RunNodes();

  const JobPaths paths_;
  const SessionOptions options_;
  std::unique_ptr<kube::MemoryApi> api_;
  std::unique_ptr<control::OperatorApp> app_;
  std::unique_ptr<control::LocalNodes> nodes_;
  std::unique_ptr<History> history_;
  kube::ObjectKey key_;
  std::string uid_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> killing_{false};
  std::thread nodes_thread_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_RUN_SESSION_H_
