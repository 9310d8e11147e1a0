#ifndef MUSTER_TESTS_E2E_OPERATOR_REPLICAS_H_
#define MUSTER_TESTS_E2E_OPERATOR_REPLICAS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/process.h"

namespace muster::tests {

struct OperatorReplicasOptions {
  std::string folder;
  std::string kubeconfig;
  int count = 1;
  std::vector<std::string> lease_flags = {"--lease-duration=4s", "--renew-deadline=3s",
                                          "--retry-period=500ms"};
  std::vector<std::string> env;
};

// muster-operator as processes that share one lease, numbered from 0, on loopback ports of their
// own. What a replica did is read from its log, of which only its present life counts. They are
// killed when this is destroyed. One thread.
class OperatorReplicas {
 public:
  explicit OperatorReplicas(OperatorReplicasOptions options);
  ~OperatorReplicas();
  OperatorReplicas(const OperatorReplicas&) = delete;
  OperatorReplicas& operator=(const OperatorReplicas&) = delete;

  int count() const { return options_.count; }
  // Starts a life of a replica that does not run.
  absl::Status Launch(int replica);
  absl::Status Signal(int replica, int signal);
  // How its last life ended; nullopt while it runs. A replica that never ran has ended well.
  std::optional<ExitStatus> End(int replica);
  // What a supervisor does: replicas that have ended are started again, each at most once a second.
  void RestartEnded();

  // Its caches are synced: it leads, or may.
  bool HasStarted(int replica) const;
  // When this life began to lead, by its own log.
  std::optional<absl::Time> LeadingSince(int replica) const;
  // The running replica that began to lead last; `except` is left out.
  std::optional<int> Leader(int except = -1);

  // Of all lives, and of the present one.
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
