#ifndef MUSTER_OPERATOR_APP_OPERATOR_APP_H_
#define MUSTER_OPERATOR_APP_OPERATOR_APP_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/app/http_doors.h"
#include "operator/app/throttle_relay.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/coordinator/coordinator_identity.h"
#include "operator/coordinator/progress_board.h"
#include "operator/core/options.h"
#include "operator/kube/api.h"
#include "operator/kube/lease.h"
#include "operator/placement/ring_model.h"

namespace muster::control {

struct OperatorOptions {
  // Only jobs of this namespace; empty: of all.
  std::string namespace_scope;
  // Where the coordinator listens: "unix:/path" (in a folder of mode 0700, made if missing; the
  // socket 0600) or "host:port" with port 0 for any free one. Ports speak TLS; their certificate
  // authority is a Secret in operator_namespace.
  std::vector<std::string> coordinator_addresses;
  std::string operator_namespace = "muster-system";
  // This replica's own address as others reach it; empty: the first of coordinator_addresses with
  // its real port.
  std::string advertised_coordinator;
  // What pods are told to dial: a Service, or every replica's address, comma-separated; empty: this
  // replica's.
  std::string pod_coordinator;
  // Metrics, health and the JSON API.
  HttpOptions http;
  // The image of the worker container of jobs with a built-in trainer.
  std::string worker_image = "muster-agent";
  // Jobs reconciled at the same time.
  int reconcile_threads = 2;
  // Pods written about at the same time by the scheduler.
  int bind_threads = 16;
  // Of a round: how long its members may take to say where they stand, and then to be in it.
  absl::Duration prepare_deadline = DecideOptions().prepare_deadline;
  absl::Duration join_deadline = DecideOptions().join_deadline;
  // Label keys of the topology, broad to narrow; empty: it is found in the labels.
  std::vector<std::string> topology_levels;
  // Or the name of a Kueue Topology that has them.
  std::string kueue_topology;
  // In place of the model's, by level.
  std::map<std::string, Link> topology_links;
  // Past use of a queue counts half after this; a priority one more for each such time waited; and
  // whether jobs are moved so that a large one fits.
  absl::Duration queue_half_life = absl::Hours(24);
  absl::Duration queue_aging = absl::Minutes(1);
  bool defragment = false;
  // How long workers without an operator go on when their job does not say; absent: 6 hours with a
  // trainer, else for ever.
  std::optional<absl::Duration> orphan_deadline;
  // Where all that goes into each decision of the scheduler is kept, for muster replay; at most 256
  // MiB. Empty: nowhere.
  std::string decision_log_dir;
  // For events and leases, unique per process; empty: host name, pid and a random number.
  std::string identity;
  // Absent: this process is the only operator. Its identity and annotations are filled in.
  std::optional<kube::LeaseConfig> election;
  // What the lease is timed by: Clock::Boot() for a real one; null: the app's clock.
  const Clock* lease_clock = nullptr;
  // What the client behind `api` tells its waits to, else null. Must outlive the app.
  ThrottleRelay* throttle = nullptr;
  // Called once, by a thread of the app's, when the lease was lost: the process must end at once.
  std::function<void(const absl::Status& why)> on_lost;
};

// The operator, assembled: caches over `api`, work queue, controller, scheduler, coordinator and
// HTTP server. `muster-operator` and `muster run` both run exactly this.
//
//   MUSTER_ASSIGN_OR_RETURN(auto app, OperatorApp::Create(api, Clock::Real(), options));
//   MUSTER_RETURN_IF_ERROR(app->Start());
//   ...
//   app->Stop();
//
// Start, Stop and Create are called by one thread; everything else is thread-safe after Start.
// `api` and `clock` must outlive it. Stop neither stops workers nor writes to jobs: another
// operator takes over, at once when this one gave up its lease.
class OperatorApp {
 public:
  static absl::StatusOr<std::unique_ptr<OperatorApp>> Create(kube::Api& api, const Clock& clock,
                                                             OperatorOptions options);
  ~OperatorApp();

  // Binds the addresses, starts the loops and returns when the caches have synced; without an
  // election it leads from then on, else it is a candidate.
  absl::Status Start();
  // Stops taking new work, lets the reconciles that run finish, closes streams and servers.
  void Stop();

  bool IsLeading() const;
  // Not OK once the lease was lost.
  absl::Status lost() const;

  // What agents dial, e.g. "unix:/tmp/muster-0/1f.sock".
  std::string coordinator_address() const;
  // "127.0.0.1:41234" or "unix:/path"; empty without HTTP. And of the probes.
  std::string http_address() const;
  std::string probe_address() const;

  // What agents last said, and recent steps, for progress lines and summaries.
  AgentRegistry& agents();
  // Null when the coordinator serves unix sockets only.
  const CoordinatorIdentity* coordinator_identity() const;
  ProgressBoard& progress();

 private:
  class Impl;
  explicit OperatorApp(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_OPERATOR_APP_H_
