#ifndef MUSTER_OPERATOR_APP_OPERATOR_OPTIONS_H_
#define MUSTER_OPERATOR_APP_OPERATOR_OPTIONS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/app/http_servers.h"
#include "operator/app/throttle_observer.h"
#include "operator/core/state/options.h"
#include "operator/cost/price_table.h"
#include "operator/kube/lease.h"
#include "operator/nodes/node_agent_account.h"
#include "operator/notify/receivers.h"
#include "operator/placement/ring_model.h"

namespace muster::control {

// The settings of an OperatorApp, from flags on a cluster and from `muster run` on one machine.
struct OperatorOptions {
  // Watches only jobs of this namespace; empty: of all.
  std::string namespace_scope;
  // Addresses on which the coordinator listens: "unix:/path" (in a folder of mode 0700, made if
  // missing; the socket has 0600) or "host:port" with port 0 for any free one. Ports use TLS; their
  // certificate authority is a Secret in operator_namespace.
  std::vector<std::string> coordinator_addresses;
  std::string operator_namespace = "muster-system";
  // The address of this replica's coordinator as others reach it; if empty, the first of
  // coordinator_addresses with its actual port.
  std::string advertised_coordinator;
  // The addresses that pods dial: a Service, or every replica's address, comma-separated; if empty,
  // this replica's.
  std::string pod_coordinator;
  // The account of node agents, which report over the coordinator; empty: none are admitted over
  // TLS.
  NodeAgentAccount node_agents;
  // Metrics, health and the JSON API.
  HttpOptions http;
  // The image of the worker container of jobs with a built-in trainer.
  std::string worker_image = "muster-agent";
  // See PodBuilderOptions for these.
  std::string agent_image;
  std::string worker_pull_policy;
  std::string agent_pull_policy;
  std::vector<std::string> pull_secrets;
  std::vector<std::pair<std::string, std::string>> worker_env;
  // Taints nodes with a broken GPU: see operator/nodes/unhealthy_taint.h.
  bool taint_unhealthy_nodes = false;
  // Makes a NetworkPolicy for each job: see operator/reconcile/pod/job_network_policy.h.
  bool job_network_policies = false;
  // The number of jobs reconciled at the same time.
  int reconcile_threads = 2;
  // The number of pods that the scheduler writes to at the same time.
  int bind_threads = 16;
  // Limits for the members of a round: to report their state, and then to join.
  absl::Duration prepare_deadline = DecideOptions().prepare_deadline;
  absl::Duration join_deadline = DecideOptions().join_deadline;
  // The number of jobs that write checkpoints to one storage at a time; 0: no limit.
  int max_savers_per_storage = 0;
  // Label keys of the topology, broad to narrow; if empty, the levels are derived from the labels.
  std::vector<std::string> topology_levels;
  // Alternatively, the name of a Kueue Topology that lists the levels.
  std::string kueue_topology;
  // Links by level, in place of the ring model's defaults.
  std::map<std::string, Link> topology_links;
  // Scheduling by queues: the half-life of a queue's past use, the waiting time that raises a job's
  // priority by one, and whether jobs are moved to make room for a large one.
  absl::Duration queue_half_life = absl::Hours(24);
  absl::Duration queue_aging = absl::Minutes(1);
  bool defragment = false;
  // Limits how long workers run without an operator if their job sets no limit; absent: 6 hours
  // with a trainer, else forever.
  std::optional<absl::Duration> orphan_deadline;
  // Alert rules of a job that runs are evaluated at least this often.
  absl::Duration alert_interval = DecideOptions().alert_interval;
  // The receivers that alert rules of jobs may name.
  std::vector<Receiver> alert_receivers;
  // The prices and the power of nodes.
  PriceTable prices;
  // Directory for the inputs of scheduler decisions, for muster replay; at most 256 MiB. Empty:
  // none.
  std::string decision_log_dir;
  // Unique name of this process in events and leases; if empty, host name, pid and a random number.
  std::string identity;
  // If absent, this process is the only operator. `identity` and `annotations` are filled in.
  std::optional<kube::LeaseConfig> election;
  // Times the lease: Clock::Boot() for a real one; if null, the app's clock.
  const Clock* lease_clock = nullptr;
  // Receives the waits of the client behind `api`, or null. Must outlive the app.
  ThrottleObserver* throttle = nullptr;
  // Called once, by a thread of the app, when the lease was lost: the process must end at once.
  std::function<void(const absl::Status& why)> on_lost;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_OPERATOR_OPTIONS_H_
