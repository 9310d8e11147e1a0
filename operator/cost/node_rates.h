#ifndef MUSTER_OPERATOR_COST_NODE_RATES_H_
#define MUSTER_OPERATOR_COST_NODE_RATES_H_

#include <optional>
#include <string>

#include "operator/core/state/view.h"
#include "operator/cost/price_table.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/scheduling_node.h"

// The price and the power of a pod's share of its node. Pure.
namespace muster::control {

// The label by which a node names its own price for an hour, as "12.29". It goes before the table.
inline constexpr char kPriceLabel[] = "muster.dev/price-per-hour";
inline constexpr char kInstanceTypeLabel[] = "node.kubernetes.io/instance-type";

// Returns the part of the node's GPUs, 0 to 1, that a pod with these requests takes: the largest
// request/allocatable of all kinds of GPUs that it requests. Returns 0 if it requests no GPUs.
double GpuShare(const ResourceAmounts& requests, const SchedulingNode& node);

// Returns the part of the node, 0 to 1, that a pod with these requests takes: its part of the GPUs
// or, if it requests none, its part of the CPUs.
double ShareOf(const ResourceAmounts& requests, const SchedulingNode& node);

// Returns the rates of a pod with these requests on `node`. `gpu_watts` is the measured draw of all
// of the node's GPUs; a pod with GPUs takes its share of it, in place of the table's power of the
// whole node.
WorkerRates RatesOnNode(const ResourceAmounts& requests, const SchedulingNode& node,
                        const PriceTable& table, std::optional<double> gpu_watts);

// Returns what is wrong with the node's own price, in words; empty if it has none or a good one.
std::string PriceLabelFault(const SchedulingNode& node);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COST_NODE_RATES_H_
