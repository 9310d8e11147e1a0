#ifndef MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_
#define MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/local/pod_command.h"

namespace muster::control {

// What the container `worker` finds where, since processes here share one file system: a path
// inside the container -> the path on this machine.
struct PodVolumes {
  std::map<std::string, std::string> mounts;
  // Tokens have to be replaced by then; infinite when there are none.
  absl::Duration fresh_for = absl::InfiniteDuration();
};

// Makes the volumes that `worker` mounts under `folder`: projected ones (bound service account
// tokens by TokenRequest, config maps, secrets, downward API), config maps, secrets and emptyDir;
// hostPath is where it is. Again: tokens and contents are renewed in place, each file in one step,
// and an emptyDir keeps what it has. Other kinds (claims) are not mapped: their path is this
// machine's own. Files, of tokens too, are as private as `folder` is.
// kInvalidArgument and kUnimplemented: it can never be; anything else: try again later.
absl::StatusOr<PodVolumes> MakeVolumes(const Json& pod, const std::string& folder, kube::Api& api,
                                       Files& files, absl::Time wall);

// Paths in arguments, environment and working directory that lie under a mount become this
// machine's.
void UseMounts(const std::map<std::string, std::string>& mounts, PodCommand& command);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_
