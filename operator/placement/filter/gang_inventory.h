#ifndef MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_INVENTORY_H_
#define MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_INVENTORY_H_

#include "operator/placement/cluster/cluster_snapshot.h"
#include "operator/placement/cluster/scheduling_pod.h"
#include "operator/placement/filter/node_filter.h"
#include "operator/placement/filter/refusal.h"
#include "operator/placement/inventory.h"

namespace muster::control {

// The cluster as Place() wants it, for a gang of pods like this one: by node what is free, with
// `slots` the copies it has room for (so a worker asks for one slot, and for what else the tree is
// to sum up), and no node schedulable that the filter refuses. `gpus` counts the GPU resource that
// the pod asks for. Domains are left empty. Refusals are added to `summary`, unless it is null.
Inventory GangInventory(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                        const FilterOptions& options = {}, RefusalSummary* summary = nullptr);
// What a worker of it asks of such an inventory.
Resources GangShare(const SchedulingPod& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_FILTER_GANG_INVENTORY_H_
