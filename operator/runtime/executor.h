#ifndef MUSTER_OPERATOR_RUNTIME_EXECUTOR_H_
#define MUSTER_OPERATOR_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "operator/api/training_job.h"
#include "operator/coordinator/agent_registry.h"
#include "operator/core/plan.h"
#include "operator/kube/api.h"
#include "operator/runtime/event_recorder.h"
#include "operator/runtime/pod_builder.h"

namespace muster::control {

// Versions that the caches must have seen before the job is decided on again; 0: nothing written.
struct Written {
  uint64_t job_version = 0;
  uint64_t pod_version = 0;
};

// Carries out plans, in the order plan.h gives. The promise that everything rests on: orders are
// sent only after the status that records their (term, round, membership) was accepted by the API
// server against the very version that was decided on. Stateless but for its seams; thread-safe.
class Executor {
 public:
  Executor(kube::Api& api, AgentRegistry& registry, EventRecorder& events,
           PodBuilderOptions pod_options)
      : api_(api), registry_(registry), events_(events), pod_options_(std::move(pod_options)) {}

  // Deletes, creates, finalizers, then the status write. On an error nothing after it was done, and
  // the plan with its memory must be dropped: kAborted when the job changed meanwhile. `written` is
  // filled as far as writes went, also on an error.
  absl::Status Write(const TrainingJob& job, const Plan& plan, Written& written);

  // After Write succeeded: orders, events, and the job's own deletion. An order to an agent that is
  // not attached is dropped, as the plan expects.
  absl::Status Announce(const TrainingJob& job, const Plan& plan);

 private:
  absl::Status DeletePods(const TrainingJob& job, const Plan& plan);
  absl::Status CreatePods(const TrainingJob& job, const Plan& plan, Written& written);
  absl::StatusOr<std::string> WriteFinalizers(const TrainingJob& job, const Plan& plan,
                                              Written& written, bool& gone);
  absl::Status WriteStatus(const TrainingJob& job, const Plan& plan, const std::string& version,
                           Written& written);
  void SendOrders(const TrainingJob& job, const Plan& plan);

  kube::Api& api_;
  AgentRegistry& registry_;
  EventRecorder& events_;
  const PodBuilderOptions pod_options_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RUNTIME_EXECUTOR_H_
