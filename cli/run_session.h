#ifndef MUSTER_CLI_RUN_SESSION_H_
#define MUSTER_CLI_RUN_SESSION_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/history.h"
#include "cli/job_paths.h"
#include "cli/progress_line.h"
#include "operator/api/training_job.h"
#include "operator/app/operator_app.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/local/local_nodes.h"

namespace muster::cli {

struct SessionOptions {
  std::string agent;    // path of muster-agent
  std::string trainer;  // path of muster-trainer
  // Metrics, health and the JSON API, host:port of the loopback; empty: a socket of this user's.
  std::string http;
};

// One job on this machine: the embedded API with its files, the operator over it, and LocalNodes
// that run its pods. Opened again after a crash, it takes over what still runs. Open and the
// destructor on one thread; LocalNodes has a thread of its own inside.
class RunSession {
 public:
  // FailedPrecondition, with the pid, when another process runs this job.
  static absl::StatusOr<std::unique_ptr<RunSession>> Open(const JobPaths& paths,
                                                          SessionOptions options);
  ~RunSession();

  // As ApplyJob() does. `job` has absolute paths. False: it had succeeded before, and nothing runs.
  absl::StatusOr<bool> Apply(const control::TrainingJob& job);
  absl::Status SetSuspended(bool suspended);

  absl::StatusOr<control::TrainingJob> Job();
  // Takes the steps reported since the last call into the history.
  absl::Status TakeSteps();
  ProgressView Progress(const control::TrainingJob& job);
  const History& history() const { return *history_; }

  // Whether a worker of the job is on this machine, or was sent to it.
  bool AnyWorkerIsPlaced();
  // Waits until no worker's process is left, for at most `within`.
  void WaitForWorkers(absl::Duration within);
  // Ends all workers of the job at once, without a checkpoint.
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

#endif  // MUSTER_CLI_RUN_SESSION_H_
