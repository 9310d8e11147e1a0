#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_BUILDER_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_BUILDER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/api/training_job.h"
#include "operator/core/state/plan.h"

namespace muster::control {

struct PodBuilderOptions {
  std::string coordinator;   // address that the agent dials
  std::string worker_image;  // for jobs with the built-in trainer, or that name no image
  // The image from which an init container copies the agent into pods whose worker has an image of
  // the user's. Empty: those images have `muster-agent` in their PATH.
  std::string agent_image = {};
  // The CA certificate (PEM) that agents trust, if the coordinator is not a unix socket. The pod
  // then gets a token to authenticate with.
  std::string coordinator_ca = {};
  // The pods run in containers of a kubelet, so that fields which need one have an effect: security
  // context, /dev/shm, grace period, secrets for images. False on one machine.
  bool containers = false;
  // The imagePullPolicy of workers in `worker_image`, and of the init container, unless the
  // template gives one. Empty: the API server's default.
  std::string worker_pull_policy = {};
  std::string agent_pull_policy = {};
  // The names of Secrets for pulling images, in addition to the template's. A Secret is looked up
  // in the job's namespace; one that is not there is ignored by kubelets.
  std::vector<std::string> pull_secrets = {};
  // Variables of the worker's container, e.g. what NCCL has to know about the cluster's network. A
  // variable of the template wins.
  std::vector<std::pair<std::string, std::string>> worker_env = {};
  // Agents tolerate a silent coordinator for this long: half a lease. Empty: their own default.
  std::string coordinator_silence = {};
  // Returns true if the PriorityClass exists: a pod that names a missing one would be refused.
  // Null: none exists. Thread-safe.
  std::function<bool(const std::string& name)> has_priority_class = {};
};

// Makes the pods of one job that Decide() asks for: the job's template with muster's name, labels,
// owner, scheduler and restart policy, and with the agent as the entry point of the container
// `worker`. The user's environment, volumes, resources and other containers are kept; where both
// set a variable, muster's wins. The built-in trainer's container satisfies the Pod Security
// Standard restricted unless the template says otherwise. With a coordinator_ca, a projected token
// for the coordinator is mounted in that container, and the API server's own is not, unless the
// template asks for it. The job's PriorityClass is the pods' too, unless the template names one.
// The user's own command of a job without `trainer` reaches the agent in the spec, not here. The
// part that all pods of a job share is made once. Immutable; pure.
class PodBuilder {
 public:
  // Returns kInvalidArgument if no pod can be made of the job's template.
  static absl::StatusOr<PodBuilder> Make(const TrainingJob& job, const PodBuilderOptions& options);

  Json Build(const CreatePod& create) const;

 private:
  PodBuilder() = default;

  Json pod_;
  size_t worker_ = 0;  // the index of the container `worker`
  Json env_;           // muster's variables that all pods have
  Json users_env_;
};

// Makes a single pod of a job.
absl::StatusOr<Json> BuildPod(const TrainingJob& job, const CreatePod& create,
                              const PodBuilderOptions& options);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_BUILDER_H_
