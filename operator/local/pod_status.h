#ifndef MUSTER_OPERATOR_LOCAL_POD_STATUS_H_
#define MUSTER_OPERATOR_LOCAL_POD_STATUS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "base/process.h"

namespace muster::control {

// How a pod's one container stands, for its status.
struct ContainerState {
  absl::Time started_at;
  std::optional<ExitStatus> exit;
  absl::Time finished_at;
  // Of a container that could not be started; then `exit` has the code.
  std::string start_error;
  // Of one that cannot be started yet: what it waits for. Nothing else is set but started_at.
  std::string waiting;
};

// PodStatus as a kubelet writes it: phase, conditions, containerStatuses, addresses. `pod` gives
// the container's name and image. What others wrote into its status stays (QoS class, conditions
// such as DisruptionTarget), and so do transition times of what has not changed.
Json PodStatusOf(const Json& pod, const ContainerState& state);

// Succeeded or Failed: a kubelet never changes it again.
bool IsTerminal(const Json& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_STATUS_H_
