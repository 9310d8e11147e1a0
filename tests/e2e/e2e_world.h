#ifndef MUSTER_TESTS_E2E_E2E_WORLD_H_
#define MUSTER_TESTS_E2E_E2E_WORLD_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/process.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {

// A private control plane, on which muster is installed as docs/operations.md says: the CRD, the
// operator as a process under its own ServiceAccount, and machines: muster-local-nodes, each with a
// node's own client certificate. What it started is gone when it is destroyed. One thread.
class E2eWorld {
 public:
  static absl::StatusOr<std::unique_ptr<E2eWorld>> Create();
  ~E2eWorld();

  // kubectl, in the namespace of the jobs.
  TestCluster& cluster() { return *cluster_; }
  const std::string& folder() const { return folder_; }

  // The block of commands that docs/operations.md marks with this name.
  static absl::StatusOr<std::string> Documented(const std::string& block);
  // Runs it in folder(), as an administrator in the tree's root would; what it printed.
  absl::StatusOr<std::string> RunDocumented(const std::string& block,
                                            const std::vector<std::string>& env = {});

  // What the page says, with shorter leases.
  absl::Status StartOperator();
  // SIGTERM, and its end.
  absl::Status StopOperator();
  // A machine that takes one pod of a CPU, ready to.
  absl::Status StartNode(const std::string& name);
  // The machine loses its power: nothing of it runs any more.
  void KillNode(const std::string& name);
  // muster-local-nodes alone is killed; the pods' processes live on.
  void KillKubelet(const std::string& name);

  std::string Manifest(const std::string& name, int workers, int steps,
                       const std::string& more = "") const;
  // kubectl apply of a training of gpt2-nano; `more` are further lines of the spec.
  absl::Status ApplyJob(const std::string& name, int workers, int steps,
                        const std::string& more = "");
  // kubectl delete, and all its pods gone.
  absl::Status DeleteJob(const std::string& name);
  std::string Checkpoints(const std::string& job) const;
  // Looks until `done` is true of the job; else DeadlineExceeded with the job and the logs' ends.
  absl::StatusOr<Json> WaitForJob(const std::string& name, const std::string& what,
                                  const std::function<bool(const Json&)>& done,
                                  absl::Duration within = absl::Seconds(60));
  // A round with so many workers is active, newer than `after_round`.
  absl::StatusOr<Json> WaitForRound(const std::string& name, int workers, int64_t after_round = 0,
                                    absl::Duration within = absl::Seconds(60));
  // Steps go on from where they are.
  absl::Status WaitForMoreSteps(const std::string& name);
  absl::Status WaitFor(const std::string& what, const std::function<bool()>& done,
                       absl::Duration within = absl::Seconds(60));

  // Pods of the job that have not ended, by name.
  std::map<std::string, Json> Pods(const std::string& job);
  // Pids of the trainers of a pod, by its uid.
  std::vector<pid_t> TrainersOf(const Json& pod) const;
  // What operator and machines said last, for a failed assertion.
  std::string Logs() const;
  std::string OperatorLog() const;

 private:
  E2eWorld() = default;
  absl::StatusOr<std::unique_ptr<Process>> Launch(const std::string& name,
                                                  std::vector<std::string> argv,
                                                  const std::vector<std::string>& env = {});

  std::unique_ptr<TestCluster> cluster_;
  std::string folder_;
  std::unique_ptr<Process> operator_;
  std::map<std::string, std::unique_ptr<Process>> nodes_;
};

int64_t StepOf(const Json& job);
int64_t RoundOf(const Json& job);
// "True/Reason" of a condition; empty: there is none.
std::string ConditionOf(const Json& object, const std::string& type);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_E2E_WORLD_H_
