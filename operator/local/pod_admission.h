#ifndef MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_
#define MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/local/node_object.h"
#include "operator/placement/placement.h"

namespace muster::control {

// Why a node rejects a pod that was bound to it, in a kubelet's terms.
struct Refusal {
  std::string reason;  // OutOfcpu, OutOfmemory, OutOfpods, OutOfnvidia.com/gpu, NodeAffinity
  std::string message;
};

// Returns the resource requests of `pod`, counted as the scheduler counts them.
Resources RequestsOf(const Json& pod);

// Returns a refusal unless the pod fits on `node` beside the resources in use, `used`. Pure.
std::optional<Refusal> RefuseUnfit(const Json& pod, const LocalNode& node, const Resources& used);

// Returns the status of a refused pod: Failed, without containers.
Json RefusedStatusOf(const Json& pod, const Refusal& refusal, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_
