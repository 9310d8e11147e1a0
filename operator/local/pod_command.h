#ifndef MUSTER_OPERATOR_LOCAL_POD_COMMAND_H_
#define MUSTER_OPERATOR_LOCAL_POD_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/environment.h"
#include "base/json.h"

namespace muster::control {

struct PodCommand {
  std::vector<std::string> argv;
  Environment env;
  std::string cwd;
  // The UUIDs of the GPUs that the pod may use, in NVIDIA_VISIBLE_DEVICES; empty: it is not told.
  std::vector<std::string> gpus;
};

// The programs of an image, from their name to their path on this machine.
using ImagePrograms = std::map<std::string, std::string>;

// Returns a field of `pod` from the downward API, by a path as in fieldRef. kInvalidArgument for a
// field that the API does not offer.
absl::StatusOr<std::string> PodField(const Json& pod, const std::string& path);

// Returns the container named `worker`, or null if the pod has none.
const Json* WorkerContainer(const Json& pod);

// Returns the command that a kubelet would execute for the container `worker` of `pod`: command and
// args with $(NAME) expanded, the environment over `base` with downward API references resolved,
// and the working directory. A container without a command runs the program that its image is named
// for. kInvalidArgument, with the field's path, for a source that does not exist here (secrets,
// config maps), unless it is optional.
absl::StatusOr<PodCommand> CommandOf(const Json& pod, Environment base,
                                     const ImagePrograms& programs);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_COMMAND_H_
