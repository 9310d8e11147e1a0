#ifndef MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_
#define MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/json.h"
#include "operator/local/node_object.h"
#include "operator/placement/placement.h"

namespace muster::control {

// Why a node does not take a pod that was bound to it, in a kubelet's words.
struct Refusal {
  std::string reason;  // OutOfcpu, OutOfmemory, OutOfpods, OutOfnvidia.com/gpu, NodeAffinity
  std::string message;
};

// What the containers of `pod` ask for, as the scheduler counts it.
Resources RequestsOf(const Json& pod);

// Nothing when the pod fits on `node`, where `used` is taken. Pure.
std::optional<Refusal> RefuseUnfit(const Json& pod, const LocalNode& node, const Resources& used);

// The status of a refused pod: Failed, without any container.
Json RefusedStatusOf(const Json& pod, const Refusal& refusal, absl::Time now);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_POD_ADMISSION_H_
