#ifndef MUSTER_CLI_SIMULATE_JOBS_SVG_H_
#define MUSTER_CLI_SIMULATE_JOBS_SVG_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_trace.h"

namespace muster::cli {

// Draws a line for each of the first 60 jobs, as a standalone SVG file: thin while it waits; while
// it trains, its height is the share of the requested workers, in its queue's colour. Pure.
std::string JobsSvg(const SimReport& report, const std::vector<SimJob>& jobs,
                    absl::string_view title);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_JOBS_SVG_H_
