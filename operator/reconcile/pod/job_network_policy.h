#ifndef MUSTER_OPERATOR_RECONCILE_POD_JOB_NETWORK_POLICY_H_
#define MUSTER_OPERATOR_RECONCILE_POD_JOB_NETWORK_POLICY_H_

#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace muster::control {

// Returns the NetworkPolicy `<job>-workers` of a job: its pods are reached by each other, by the
// operator's pods in `operator_namespace`, and by all on ports that a container names `metrics`.
// Outgoing traffic stays free: workers read data and dial the coordinator. The job owns the policy,
// which is therefore deleted with it. Pure.
Json JobNetworkPolicy(const TrainingJob& job, const std::string& operator_namespace);

// Creates the job's policy, or corrects one that differs; writes nothing otherwise. A policy of
// that name with another owner is left alone, with kAlreadyExists. Errors name the policy.
absl::Status EnsureNetworkPolicy(kube::Api& api, const TrainingJob& job,
                                 const std::string& operator_namespace);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_JOB_NETWORK_POLICY_H_
