#ifndef MUSTER_AGENT_NODE_NODE_METRICS_H_
#define MUSTER_AGENT_NODE_NODE_METRICS_H_

#include <cstdint>
#include <string>

#include "agent/node/node_memory.h"
#include "agent/node/node_readings.h"

namespace muster::agent {

// The agent's own figures.
struct AgentFigures {
  bool connected = false;
  int64_t reports = 0;
  double reading_seconds = 0;
  double cpu_seconds = 0;
  double resident_bytes = 0;
};

// Returns the page that Prometheus scrapes, in its text format 0.0.4: the metrics of
// node_metric_catalog.h. A value that a machine does not give has no series. Pure.
std::string MetricsPage(const NodeReadings& readings, const NodeMemory& memory,
                        const AgentFigures& own);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_METRICS_H_
