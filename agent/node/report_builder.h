#ifndef MUSTER_AGENT_NODE_REPORT_BUILDER_H_
#define MUSTER_AGENT_NODE_REPORT_BUILDER_H_

#include "agent/node/node_memory.h"
#include "agent/node/node_readings.h"
#include "proto/muster/v1alpha1/node_report.pb.h"

namespace muster::agent {

// Returns what the operator is told: hardware and faults, without the values that change all the
// time. Text that is not UTF-8 is mended, and lists are cut, so that the message can always be
// sent. Pure.
v1alpha1::NodeReport ReportOf(const NodeReadings& readings, const NodeMemory& memory);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_REPORT_BUILDER_H_
