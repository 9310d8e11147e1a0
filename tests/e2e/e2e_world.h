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
#include "base/process.h"
#include "tests/e2e/operator_replicas.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// Whoever waits longer waits in vain, on however busy a machine.
inline constexpr absl::Duration kPatience = absl::Minutes(3);

struct E2eOptions {
  int replicas = 1;
  // Of the operators; empty: short ones.
  std::vector<std::string> lease_flags;
  // Further variables of the operators and machines.
  std::vector<std::string> env;
  // Operators that have ended are started again while something is waited for.
  bool supervise = false;
};

// A private control plane, on which muster is installed as docs/operations.md says: the CRD,
// operators as processes under their own ServiceAccount, and machines: muster-local-nodes, each
// with a node's own client certificate. What it started is gone when it is destroyed. One thread.
class E2eWorld {
 public:
  static absl::StatusOr<std::unique_ptr<E2eWorld>> Create(const E2eOptions& options = {});
  ~E2eWorld();

  // kubectl, in the namespace of the jobs.
  TestCluster& cluster() { return *cluster_; }
  const std::string& folder() const { return folder_; }

  // The block of commands that docs/operations.md or docs/queues.md marks with this name.
  static absl::StatusOr<std::string> Documented(const std::string& block);
  // Runs it in folder(), as an administrator in the tree's root would; what it printed.
  absl::StatusOr<std::string> RunDocumented(const std::string& block,
                                            const std::vector<std::string>& env = {});

  // What the page says, with shorter leases; it leads.
  absl::Status StartOperator();
  // SIGTERM, and its end.
  absl::Status StopOperator();
  // All of them; one leads, the others are ready to.
  absl::Status StartOperators();
  OperatorReplicas& operators() { return *operators_; }
  // A machine that takes a pod of a CPU for each of its own, ready to.
  absl::Status StartNode(const std::string& name, int cpus = 1);
  // The machine loses its power: nothing of it runs any more.
  void KillNode(const std::string& name);
  // muster-local-nodes alone is killed, or gets SIGSTOP and SIGCONT; the pods' processes live on.
  void KillKubelet(const std::string& name);
  void SignalKubelet(const std::string& name, int signal);

  // Steps of a job that is watched and does not end. They keep a pace, so that the job leaves the
  // machine to what is watched.
  static constexpr int kEndless = 10'000'000;
  std::string Manifest(const std::string& name, int workers, int steps,
                       const std::string& more = "") const;
  // Steps between two checkpoints of jobs that are applied from now on.
  void SetCheckpointInterval(int steps) { checkpoint_interval_ = steps; }
  // kubectl apply of a training of gpt2-nano; `more` are further lines of the spec.
  absl::Status ApplyJob(const std::string& name, int workers, int steps,
                        const std::string& more = "");
  // kubectl delete, and all its pods gone.
  absl::Status DeleteJob(const std::string& name);
  std::string Checkpoints(const std::string& job) const;
  // Looks until `done` is true of the job; else DeadlineExceeded with the job and the logs' ends.
  absl::StatusOr<Json> WaitForJob(const std::string& name, const std::string& what,
                                  const std::function<bool(const Json&)>& done,
                                  absl::Duration within = kPatience);
  // A round with so many workers is active, newer than `after_round`.
  absl::StatusOr<Json> WaitForRound(const std::string& name, int workers, int64_t after_round = 0,
                                    absl::Duration within = kPatience);
  // Steps go on from where they are.
  absl::Status WaitForMoreSteps(const std::string& name);
  absl::Status WaitFor(const std::string& what, const std::function<bool()>& done,
                       absl::Duration within = kPatience);

  // Pods of the job that have not ended, by name.
  std::map<std::string, Json> Pods(const std::string& job);
  // Pids of the trainers of a pod, by its uid, or of its other processes.
  std::vector<pid_t> TrainersOf(const Json& pod) const;
  std::vector<pid_t> ProcessesOf(const Json& pod, const std::string& program) const;
  // What a pod's processes said, by file name.
  std::map<std::string, std::string> PodLogs(const Json& pod) const;
  // What operator and machines said last, for a failed assertion.
  std::string Logs() const;
  std::string OperatorLog() const { return operators_->Log(0); }

 private:
  explicit E2eWorld(E2eOptions options) : options_(std::move(options)) {}
  absl::Status Install();
  // NAME=VALUE in the environment of all that runs on a node.
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
// "True/Reason" of a condition; empty: there is none.
std::string ConditionOf(const Json& object, const std::string& type);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_E2E_WORLD_H_
