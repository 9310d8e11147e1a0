#ifndef MUSTER_OPERATOR_LOCAL_POD_STATUS_H_
#define MUSTER_OPERATOR_LOCAL_POD_STATUS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "base/process/process.h"

namespace muster::control {

// The state of a pod's only container.
struct ContainerState {
  absl::Time started_at;
  std::optional<ExitStatus> exit;
  absl::Time finished_at;
  // Set for a container that could not be started; `exit` then has the code.
  std::string start_error;
  // Set for a container that cannot be started yet, to the reason. Only started_at is set besides.
  std::string waiting;
};

// Returns the PodStatus as a kubelet writes it: phase, conditions, containerStatuses, addresses.
// `pod` gives the container's name and image. Fields of its status that others wrote are kept (QoS
// class, conditions such as DisruptionTarget), and so are the transition times of unchanged
// conditions.
Json PodStatusOf(const Json& pod, const ContainerState& state);

// Returns true for Succeeded and Failed, which a kubelet never changes again.
bool IsTerminal(const Json& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_STATUS_H_
