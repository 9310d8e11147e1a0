#include "operator/reconcile/pod/job_network_policy.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "operator/core/round/gang.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/reconcile/pod/job_owner.h"

namespace muster::control {
namespace {

constexpr char kMetricsPort[] = "metrics";

Json Labels(Json labels) { return {{"matchLabels", std::move(labels)}}; }

// Compares what muster sets; the server may add defaults and other writers may add labels.
bool IsAsWanted(const Json& stored, const Json& wanted) {
  const Json* spec = kube::Find(stored, {"spec"});
  return spec != nullptr && *spec == wanted["spec"] &&
         kube::LabelOf(stored, kJobLabel) == kube::LabelOf(wanted, kJobLabel);
}

absl::Status Correct(kube::Api& api, const TrainingJob& job, const Json& wanted) {
  absl::StatusOr<Json> stored = api.Get(kube::kNetworkPolicies, kube::KeyOf(wanted));
  if (!stored.ok()) return stored.status();
  const auto owner = kube::ControllerOf(*stored);
  if (!owner || owner->uid != job.uid) {
    return absl::AlreadyExistsError("it exists and belongs to another owner");
  }
  if (IsAsWanted(*stored, wanted)) return absl::OkStatus();
  (*stored)["spec"] = wanted["spec"];
  kube::SetLabel(*stored, kJobLabel, job.name);
  return api.Update(kube::kNetworkPolicies, *stored).status();
}

}  // namespace

Json JobNetworkPolicy(const TrainingJob& job, const std::string& operator_namespace) {
  Json policy =
      kube::NewObject(kube::kNetworkPolicies, {job.ns, absl::StrCat(job.name, "-workers")});
  SetJobAsOwner(job, policy);
  kube::SetLabel(policy, kJobLabel, job.name);
  const Json workers = Labels({{kJobLabel, job.name}});
  const Json of_job = {{"podSelector", workers}};
  // The labels are those of the chart; an operator outside the cluster has no pods to admit.
  const Json of_operator = {
      {"namespaceSelector", Labels({{"kubernetes.io/metadata.name", operator_namespace}})},
      {"podSelector", Labels({{"app.kubernetes.io/name", "muster"},
                              {"app.kubernetes.io/component", "operator"}})}};
  const Json metrics = {{"port", kMetricsPort}, {"protocol", "TCP"}};
  policy["spec"] = {{"podSelector", workers},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", Json::array({{{"from", Json::array({of_job, of_operator})}},
                                             {{"ports", Json::array({metrics})}}})}};
  return policy;
}

absl::Status EnsureNetworkPolicy(kube::Api& api, const TrainingJob& job,
                                 const std::string& operator_namespace) {
  const Json wanted = JobNetworkPolicy(job, operator_namespace);
  absl::Status status = api.Create(kube::kNetworkPolicies, wanted).status();
  if (absl::IsAlreadyExists(status)) status = Correct(api, job, wanted);
  return status.ok()
             ? status
             : kube::Annotate(status, absl::StrCat("write network policy ", kube::NameOf(wanted)));
}

}  // namespace muster::control
