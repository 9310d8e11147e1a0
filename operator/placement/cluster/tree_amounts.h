#ifndef MUSTER_OPERATOR_PLACEMENT_CLUSTER_TREE_AMOUNTS_H_
#define MUSTER_OPERATOR_PLACEMENT_CLUSTER_TREE_AMOUNTS_H_

#include <cstdint>

#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/inventory.h"

namespace muster::control {

// Converts amounts for topology trees: GPUs of all vendors and kinds together, nothing below zero.
Resources TreeAmounts(const ResourceAmounts& amounts, int64_t slots);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_PLACEMENT_CLUSTER_TREE_AMOUNTS_H_
