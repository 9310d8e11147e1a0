#ifndef MUSTER_OPERATOR_RECONCILE_POD_BUILDER_H_
#define MUSTER_OPERATOR_RECONCILE_POD_BUILDER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/api/training_job.h"
#include "operator/core/plan.h"

namespace muster::control {

struct PodBuilderOptions {
  std::string coordinator;   // what the agent dials
  std::string worker_image;  // of jobs with the built-in trainer, and of those that name none
  // PEM, when the coordinator is not a unix socket: what agents trust. The pod then gets a token
  // to prove itself with.
  std::string coordinator_ca;
  // How long agents bear with a silent coordinator: half a lease. Empty: their own default.
  std::string coordinator_silence;
  // Whether a PriorityClass of this name is there: a pod of another one would be refused. Null:
  // none is. Thread-safe.
  std::function<bool(const std::string& name)> has_priority_class;
};

// Makes the pods that Decide() asks for of one job: the job's template with our name, labels,
// owner, scheduler and restart policy, and with the agent as the entry point of the container
// `worker`. The user's environment, volumes, resources and other containers are kept; where both
// set a variable, ours wins. With a coordinator_ca, a projected token for the coordinator is
// mounted in that container, and the API server's own is not, unless the template asks for it. The
// job's PriorityClass is the pods' too, unless the template names one. The user's own command of a
// job without `trainer` reaches the agent in the spec, not here. What all pods of a job have is
// made once. Immutable; pure.
class PodBuilder {
 public:
  // kInvalidArgument: no pod can be made of the job's template.
  static absl::StatusOr<PodBuilder> Make(const TrainingJob& job, const PodBuilderOptions& options);

  Json Build(const CreatePod& create) const;

 private:
  PodBuilder() = default;

  Json pod_;
  size_t worker_ = 0;  // among its containers
  Json env_;           // of ours, what all pods have
  Json users_env_;
};

// One pod of a job.
absl::StatusOr<Json> BuildPod(const TrainingJob& job, const CreatePod& create,
                              const PodBuilderOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_BUILDER_H_
