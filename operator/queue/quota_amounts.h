#ifndef MUSTER_OPERATOR_QUEUE_QUOTA_AMOUNTS_H_
#define MUSTER_OPERATOR_QUEUE_QUOTA_AMOUNTS_H_

#include <set>
#include <string>

#include "operator/placement/cluster/scheduling_node.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/queue/queue_spec.h"

// What counts for what in quotas. Pure.
namespace muster::control {

// Kinds of GPUs, as nodes' label nvidia.com/gpu.product tells them.
using GpuKindSet = std::set<std::string>;

// Empty: the node does not tell.
std::string GpuKindOf(const SchedulingNode& node);

// The kinds that a pod may get: those that it names, and those of `there` that its node selector
// and its required node affinity do not rule out by that label.
GpuKindSet GpuKindsFor(const PodConstraints& wants, const GpuKindSet& there);

// Every resource that the pod requests under its own name, and its nvidia.com/gpu once more for
// each of the kinds.
Amounts QuotaOf(const SchedulingPod& pod, const GpuKindSet& kinds);

// Adds what a node has, as quotas count; nothing of one that lies.
void AddCapacity(const SchedulingNode& node, Amounts& to);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_QUOTA_AMOUNTS_H_
