#ifndef MUSTER_TESTS_E2E_OPERATOR_REPLICAS_H_
#define MUSTER_TESTS_E2E_OPERATOR_REPLICAS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/process/process.h"

namespace muster::tests {

struct OperatorReplicasOptions {
  std::string folder;
  std::string kubeconfig;
  int count = 1;
  std::vector<std::string> lease_flags = {"--lease-duration=4s", "--renew-deadline=3s",
                                          "--retry-period=500ms"};
  std::vector<std::string> env;
};

// Runs muster-operator as `count` processes that share one lease. Replicas are numbered from 0 and
// listen on loopback ports of their own. The state of a replica is read from the log of its present
// life, that is since its last Launch(). The destructor kills them. Not thread-safe.
class OperatorReplicas {
 public:
  explicit OperatorReplicas(OperatorReplicasOptions options);
  ~OperatorReplicas();
  OperatorReplicas(const OperatorReplicas&) = delete;
  OperatorReplicas& operator=(const OperatorReplicas&) = delete;

  int count() const { return options_.count; }
  // Starts a replica that is not running.
  absl::Status Launch(int replica);
  absl::Status Signal(int replica, int signal);
  // The exit status of the replica's last life; nullopt while it runs, success if it never ran.
  std::optional<ExitStatus> End(int replica);
  // Restarts replicas that have ended, each at most once a second, as a supervisor does.
  void RestartEnded();

  // Returns true if the replica's caches are synced, so that it leads or could.
  bool HasStarted(int replica) const;
  // The time at which the present life became leader, by its own log.
  std::optional<absl::Time> LeadingSince(int replica) const;
  // The running replica that became leader last, other than `except`.
  std::optional<int> Leader(int except = -1);

  // The replica's log of all its lives, or of the present one.
  std::string Log(int replica) const;
  std::string LifeLog(int replica) const;

 private:
  struct Replica {
    std::unique_ptr<Process> process;
    int lives = 0;
    absl::Time launched_at = absl::InfinitePast();
    size_t log_start = 0;
  };
  static std::string NameOf(int replica);

  const OperatorReplicasOptions options_;
  std::vector<Replica> replicas_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_OPERATOR_REPLICAS_H_
