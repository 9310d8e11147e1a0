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
};

// Programs that an image would bring: name -> path on this machine.
using ImagePrograms = std::map<std::string, std::string>;

// The downward API: the value of a field of `pod`, as in fieldRef. kInvalidArgument for fields that
// it does not offer.
absl::StatusOr<std::string> PodField(const Json& pod, const std::string& path);

// What a kubelet would execute for the container named `worker` of `pod`: command and args with
// $(NAME) expanded, the environment over `base` with the downward API's field references resolved,
// the working directory. A container without a command runs the program its image is named for.
// InvalidArgument with the field's path for what does not exist here (secrets, config maps) unless
// it is optional.
absl::StatusOr<PodCommand> CommandOf(const Json& pod, Environment base,
                                     const ImagePrograms& programs);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_COMMAND_H_
