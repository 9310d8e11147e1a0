#ifndef MUSTER_OPERATOR_APP_OPERATOR_FLAGS_H_
#define MUSTER_OPERATOR_APP_OPERATOR_FLAGS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "operator/nodes/node_agent_account.h"
#include "operator/placement/ring_model.h"

namespace muster::control {

extern const char kOperatorUsage[];

// The flags of muster-operator, with defaults filled in.
struct OperatorFlags {
  // Directory of the embedded API server; if empty, a real one is used.
  std::string state_dir;
  // Kubeconfig files of a real server, in order; if empty, the configuration of this process's pod.
  std::vector<std::string> kubeconfig;
  std::string context;
  double qps = 500;
  int burst = 1000;

  bool leader_elect = true;
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
  std::string lease_namespace;
  std::string identity;

  std::string name_space;  // empty: all
  std::vector<std::string> coordinator;
  std::string advertise;
  std::string pod_coordinator;
  NodeAgentAccount node_agents;
  bool taint_unhealthy_nodes = false;
  std::string http;
  std::string http_certificate;  // files; if empty, the coordinator's
  std::string http_key;
  std::string http_token_file;  // derived from state_dir
  std::string probes;
  std::string worker_image = "muster-agent";
  std::string agent_image;
  std::string worker_pull_policy;  // empty: the API server's default
  std::string agent_pull_policy;
  std::vector<std::string> pull_secrets;
  std::vector<std::pair<std::string, std::string>> worker_env;  // in the order given
  bool job_network_policies = false;
  int workers = 2;
  int binders = 16;
  absl::Duration prepare_deadline = absl::Seconds(60);
  absl::Duration join_deadline = absl::Minutes(10);
  int max_savers_per_storage = 0;
  std::vector<std::string> topology_levels;  // label keys, broad to narrow; empty: derived
  std::string kueue_topology;
  std::map<std::string, Link> topology_links;  // by level, for the score
  absl::Duration queue_half_life = absl::Hours(24);
  absl::Duration queue_aging = absl::Minutes(1);
  bool defragment = false;
  std::string alert_receivers;   // a file; empty: no receivers
  std::string prices;            // a file; empty: only nodes name prices
  std::string decision_log_dir;  // empty: decisions are not kept
  bool log_json = false;
};

// Parses `args`, without the program's name; `environment` returns a variable's value, or "". Every
// flag is --NAME=VALUE; --leader-elect alone means true. The last value of a repeated flag counts,
// except that every --worker-env is kept. The error lists every bad flag, one per line.
absl::StatusOr<OperatorFlags> ParseOperatorFlags(
    const std::vector<std::string>& args,
    const std::function<std::string(const std::string& name)>& environment);

// The name of every flag that ParseOperatorFlags() knows, without dashes, sorted.
std::vector<std::string> OperatorFlagNames();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_OPERATOR_FLAGS_H_
