#ifndef MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_
#define MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "base/json.h"
#include "operator/kube/api.h"
#include "operator/local/pod_command.h"

namespace muster::control {

// Maps paths inside the container `worker` to paths on this machine, since all processes here share
// one file system.
struct PodVolumes {
  std::map<std::string, std::string> mounts;
  // The time within which a further MakeVolumes must renew the tokens; infinite without tokens.
  absl::Duration fresh_for = absl::InfiniteDuration();
};

// Makes, under `folder`, the volumes that the container `worker` mounts: projected volumes (bound
// service account tokens by TokenRequest, config maps, secrets, downward API), config maps, secrets
// and emptyDir. A hostPath is used in place. Other kinds (claims) are not mapped: their mount path
// is used on this machine as it is. A further call renews tokens and contents in place, each file
// atomically, and keeps the contents of an emptyDir. All files, including tokens, are as private as
// `folder`. kInvalidArgument and kUnimplemented are permanent; other errors are worth another call.
absl::StatusOr<PodVolumes> MakeVolumes(const Json& pod, const std::string& folder, kube::Api& api,
                                       Files& files, absl::Time wall);

// Rewrites paths under a mount in arguments, environment and working directory to this machine's.
void UseMounts(const std::map<std::string, std::string>& mounts, PodCommand& command);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_VOLUMES_H_
