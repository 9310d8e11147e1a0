#ifndef MUSTER_OPERATOR_RECONCILE_POD_POD_SECURITY_H_
#define MUSTER_OPERATOR_RECONCILE_POD_POD_SECURITY_H_

#include "base/json.h"

// The security context of muster's own containers. Pure.
namespace muster::control {

// The user of muster's images (tools/images.toml).
inline constexpr int kImageUser = 65532;

// Returns the security context of a container that needs no rights at all; it satisfies the Pod
// Security Standard restricted.
Json RestrictedContext();

// Fills in the security context of a worker that runs the built-in trainer, so that its pod is
// admitted to a namespace that enforces restricted. Fields that the template gives stay, those of
// the pod's context too, and fields that would contradict them are left out: root is not told to be
// another user, and a privileged container escalates. Volumes get the worker's group (fsGroup), so
// that it can write to them. Nothing is set that would hold for other containers of the pod.
void RestrictWorker(Json& spec, Json& worker);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_RECONCILE_POD_POD_SECURITY_H_
