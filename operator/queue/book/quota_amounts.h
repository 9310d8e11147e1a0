#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_AMOUNTS_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_AMOUNTS_H_

#include <set>
#include <string>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/queue/book/queue_spec.h"

// The amounts that pods and nodes count for in quotas. Pure.
namespace muster::control {

// Kinds of GPUs: values of the nodes' label nvidia.com/gpu.product.
using GpuKindSet = std::set<std::string>;

// Returns the empty string if the node has no such label.
std::string GpuKindOf(const SchedulingNode& node);

// The kinds that a pod may get: those that it names, and those of `there` that its node selector
// and its required node affinity do not rule out by that label.
GpuKindSet GpuKindsFor(const PodConstraints& wants, const GpuKindSet& there);

// Returns every resource that the pod requests under its own name, and its nvidia.com/gpu once more
// for each of the kinds.
Amounts QuotaOf(const SchedulingPod& pod, const GpuKindSet& kinds);

// Adds what a node has, as quotas count it; nothing if the node has a `complaint`.
void AddCapacity(const SchedulingNode& node, Amounts& to);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_AMOUNTS_H_
