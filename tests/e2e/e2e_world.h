#ifndef MUSTER_TESTS_E2E_E2E_WORLD_H_
#define MUSTER_TESTS_E2E_E2E_WORLD_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process/process.h"
#include "base/testing/patience.h"
#include "tests/e2e/operator_replicas.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

struct E2eOptions {
  int replicas = 1;
  // The operators' flags for the lease; empty: a short lease.
  std::vector<std::string> lease_flags;
  // Further environment variables of the operators and machines.
  std::vector<std::string> env;
  // Restarts operators that have ended, during every wait.
  bool supervise = false;
};

// A private control plane with muster installed as docs/operator-process.md describes: the CRD,
// operators as processes under their own ServiceAccount, and machines, each a muster-local-nodes
// process with the client certificate of a node. The destructor ends everything that was started.
// Not thread-safe.
class E2eWorld {
 public:
  static absl::StatusOr<std::unique_ptr<E2eWorld>> Create(const E2eOptions& options = {});
  ~E2eWorld();

  // Access to the control plane; its namespace is that of the jobs.
  TestCluster& cluster() { return *cluster_; }
  const std::string& folder() const { return folder_; }

  // Returns the block of commands that is marked with this name in docs/operator-process.md,
  // docs/operations.md or docs/queues.md.
  static absl::StatusOr<std::string> Documented(const std::string& block);
  // Runs that block in folder(), as an administrator would in the root of the tree. Returns its
  // standard output.
  absl::StatusOr<std::string> RunDocumented(const std::string& block,
                                            const std::vector<std::string>& env = {});

  // Starts the operator as documented, with a shorter lease, and waits until it leads.
  absl::Status StartOperator();
  // Sends SIGTERM and waits until the operator has ended.
  absl::Status StopOperator();
  // Starts all replicas and waits until one leads and the others are ready to.
  absl::Status StartOperators();
  OperatorReplicas& operators() { return *operators_; }
  // Starts a machine with `cpus` CPUs, which has room for one pod on each, and waits until it is
  // ready.
  absl::Status StartNode(const std::string& name, int cpus = 1);
  // Ends everything that runs on the machine, as a loss of power would.
  void KillNode(const std::string& name);
  // Kills muster-local-nodes alone, or sends it a signal (SIGSTOP, SIGCONT); the pods' processes
  // keep running.
  void KillKubelet(const std::string& name);
  void SignalKubelet(const std::string& name, int signal);

  // A number of steps that no test reaches. Such jobs sleep in each step, to leave the machine to
  // the processes under test.
  static constexpr int kEndless = 10'000'000;
  std::string Manifest(const std::string& name, int workers, int steps,
                       const std::string& more = "") const;
  // Sets the number of steps between checkpoints of jobs that are applied from now on.
  void SetCheckpointInterval(int steps) { checkpoint_interval_ = steps; }
  // Applies a job that trains gpt2-nano; `more` holds further lines of the spec.
  absl::Status ApplyJob(const std::string& name, int workers, int steps,
                        const std::string& more = "");
  // Deletes the job and waits until no job and no pod is left in the namespace.
  absl::Status DeleteJob(const std::string& name);
  std::string Checkpoints(const std::string& job) const;
  // Polls until `done` is true of the job and returns it, else DeadlineExceeded with the job and
  // the ends of the logs.
  absl::StatusOr<Json> WaitForJob(const std::string& name, const std::string& what,
                                  const std::function<bool(const Json&)>& done,
                                  absl::Duration within = kPatience);
  // Waits until a round newer than `after_round` is active with this many workers.
  absl::StatusOr<Json> WaitForRound(const std::string& name, int workers, int64_t after_round = 0,
                                    absl::Duration within = kPatience);
  // Waits until the job has reported a later step than now.
  absl::Status WaitForMoreSteps(const std::string& name);
  absl::Status WaitFor(const std::string& what, const std::function<bool()>& done,
                       absl::Duration within = kPatience);

  // The job's pods that have not ended, by name.
  std::map<std::string, Json> Pods(const std::string& job);
  // Pids of a pod's trainers, or of its processes of another program.
  std::vector<pid_t> TrainersOf(const Json& pod) const;
  std::vector<pid_t> ProcessesOf(const Json& pod, const std::string& program) const;
  // The logs of a pod's processes, by file name.
  std::map<std::string, std::string> PodLogs(const Json& pod) const;
  // The ends of the logs of operators and machines, for the message of a failed assertion.
  std::string Logs() const;
  std::string OperatorLog() const { return operators_->Log(0); }

 private:
  explicit E2eWorld(E2eOptions options) : options_(std::move(options)) {}
  absl::Status Install();
  // NAME=VALUE, in the environment of every process that runs on the node.
  std::string MarkOf(const std::string& node) const;

  const E2eOptions options_;
  std::unique_ptr<TestCluster> cluster_;
  std::string folder_;
  int checkpoint_interval_ = 1000;
  std::unique_ptr<OperatorReplicas> operators_;
  std::map<std::string, std::unique_ptr<Process>> nodes_;
};

int64_t StepOf(const Json& job);
int64_t RoundOf(const Json& job);
// A condition as "Status/Reason", e.g. "True/Training"; empty if the object does not have it.
std::string ConditionOf(const Json& object, const std::string& type);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_E2E_WORLD_H_
