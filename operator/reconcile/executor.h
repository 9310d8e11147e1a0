#ifndef MUSTER_OPERATOR_RECONCILE_EXECUTOR_H_
#define MUSTER_OPERATOR_RECONCILE_EXECUTOR_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/json.h"
#include "base/secrets.h"
#include "operator/api/training_job.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/state/plan.h"
#include "operator/kube/api.h"
#include "operator/objects/event_recorder.h"
#include "operator/reconcile/fan_out.h"
#include "operator/reconcile/pod/pod_builder.h"
#include "operator/reconcile/urgency.h"

namespace muster::control {

// Writes for a job that the caches may not show yet.
struct Written {
  // resourceVersions that the caches must reach before the job is decided on again; 0: no writes.
  uint64_t job_version = 0;
  uint64_t pod_version = 0;
  // UIDs of pods whose deletion was accepted and is not requested again.
  std::set<std::string> deleted_pods;
  // Why the API server never accepts a pod of this template, by the last Write; empty if it may.
  std::string refused_pod;
  // Reason why the status of the last Write is not in the store; empty if it is.
  std::string status_fault;
};

// Returns true if the API server refused the content of a write: unchanged, it is refused again.
bool IsTerminal(const absl::Status& status);

// Carries out plans, in the order that plan.h gives. The central guarantee: orders are sent only
// after the API server has accepted the status that records their (term, round, membership), at the
// resourceVersion that was decided on, and only while `may_order` returns OK, because a process
// that was suspended between the two may have lost its lease. Keeps no state but the key of the
// rounds' secrets; thread-safe.
class Executor {
 public:
  using MayOrder = std::function<absl::Status()>;

  // If `may_order` is null, orders may always be sent. Pods are created through `fan_out`; creating
  // pods, and the writes that they wait for, count as urgent in `urgency`. Both must outlive this.
  // With a non-empty `policy_namespace`, a job gets a NetworkPolicy that admits the operator of
  // that namespace before it gets pods.
  Executor(kube::Api& api, AgentRegistry& registry, EventRecorder& events,
           PodBuilderOptions pod_options, MayOrder may_order = nullptr,
           FanOut& fan_out = FanOut::InOrder(), Urgency* urgency = nullptr,
           std::string policy_namespace = "")
      : api_(api),
        registry_(registry),
        events_(events),
        pod_options_(std::move(pod_options)),
        may_order_(std::move(may_order)),
        fan_out_(fan_out),
        urgency_(urgency),
        policy_namespace_(std::move(policy_namespace)) {}

  // Deletes pods, creates pods, writes finalizers and spec.suspend, then the status. After an error
  // none of the later steps is done, and the plan with its memory must be dropped; kAborted means
  // that the job changed meanwhile. A status that records what orders rest on is compared with what
  // the API server stored of it. `written` is filled as far as writes went, also on an error.
  absl::Status Write(const TrainingJob& job, const Plan& plan, Written& written);

  // Sends the orders and events and deletes the job itself, once Write has succeeded. An order to
  // an agent that is not attached is dropped, as the plan expects.
  absl::Status Announce(const TrainingJob& job, const Plan& plan);

 private:
  absl::Status DeletePods(const TrainingJob& job, const Plan& plan, Written& written);
  absl::Status CreatePods(const TrainingJob& job, const Plan& plan, Written& written);
  absl::Status WriteNetworkPolicy(const TrainingJob& job);
  absl::Status CreateBatch(const TrainingJob& job, const PodBuilder& builder,
                           const CreatePod* creates, int count, Written& written);
  // Creates `pod` and returns it as stored, also if the job had it already. Thread-safe.
  absl::StatusOr<Json> MakePod(const TrainingJob& job, const Json& pod);
  void ReportRefusal(const TrainingJob& job, const CreatePod& create, const absl::Status& refusal,
                     Written& written);
  absl::StatusOr<std::string> WriteFinalizers(const TrainingJob& job, const Plan& plan,
                                              Written& written, bool& gone);
  absl::StatusOr<std::string> WriteSuspend(const TrainingJob& job, const std::string& version,
                                           Written& written);
  absl::Status WriteStatus(const TrainingJob& job, const Plan& plan, const std::string& version,
                           Written& written);
  absl::Status SendOrders(const TrainingJob& job, const Plan& plan);
  // Returns the secret of a round of the job.
  std::string SecretOf(const TrainingJob& job, const RoundStamp& round) const;

  kube::Api& api_;
  AgentRegistry& registry_;
  EventRecorder& events_;
  const PodBuilderOptions pod_options_;
  const MayOrder may_order_;
  FanOut& fan_out_;
  Urgency* const urgency_;
  const std::string policy_namespace_;
  // The key from which the secrets of rounds are derived, so that agents of a round get the same
  // secret however often they attach. Another leadership has another key and other round numbers.
  const std::string secrets_key_ = RandomSecret();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_EXECUTOR_H_
