#ifndef MUSTER_CLI_SIMULATE_OCCUPANCY_SVG_H_
#define MUSTER_CLI_SIMULATE_OCCUPANCY_SVG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "cli/simulate/sim_report.h"

namespace muster::cli {

// Draws the used share of the cluster over time, stacked by queue, with the number of waiting jobs
// below, as a standalone SVG file. Pure.
std::string OccupancySvg(const SimReport& report, absl::string_view title);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_OCCUPANCY_SVG_H_
