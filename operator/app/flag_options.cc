#include "operator/app/flag_options.h"

#include "base/clock.h"
#include "operator/kube/lease.h"

namespace muster::control {

OperatorOptions ToOperatorOptions(const OperatorFlags& flags) {
  OperatorOptions options;
  options.namespace_scope = flags.name_space;
  options.operator_namespace = flags.lease_namespace;
  options.coordinator_addresses = flags.coordinator;
  options.advertised_coordinator = flags.advertise;
  options.pod_coordinator = flags.pod_coordinator;
  options.node_agents = flags.node_agents;
  options.taint_unhealthy_nodes = flags.taint_unhealthy_nodes;
  options.http = {flags.http,     flags.state_dir.empty(), flags.http_certificate,
                  flags.http_key, flags.http_token_file,   flags.probes};
  options.worker_image = flags.worker_image;
  options.agent_image = flags.agent_image;
  options.worker_pull_policy = flags.worker_pull_policy;
  options.agent_pull_policy = flags.agent_pull_policy;
  options.pull_secrets = flags.pull_secrets;
  options.worker_env = flags.worker_env;
  options.job_network_policies = flags.job_network_policies;
  options.reconcile_threads = flags.workers;
  options.bind_threads = flags.binders;
  options.prepare_deadline = flags.prepare_deadline;
  options.join_deadline = flags.join_deadline;
  options.max_savers_per_storage = flags.max_savers_per_storage;
  options.topology_levels = flags.topology_levels;
  options.kueue_topology = flags.kueue_topology;
  options.topology_links = flags.topology_links;
  options.queue_half_life = flags.queue_half_life;
  options.queue_aging = flags.queue_aging;
  options.defragment = flags.defragment;
  options.decision_log_dir = flags.decision_log_dir;
  options.identity = flags.identity;
  if (!flags.leader_elect) return options;
  kube::LeaseConfig& lease = options.election.emplace();
  lease.lease = {flags.lease_namespace, "muster-operator"};
  lease.lease_duration = flags.lease_duration;
  lease.renew_deadline = flags.renew_deadline;
  lease.retry_period = flags.retry_period;
  options.lease_clock = &Clock::Boot();
  return options;
}

}  // namespace muster::control
