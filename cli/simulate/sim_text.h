#ifndef MUSTER_CLI_SIMULATE_SIM_TEXT_H_
#define MUSTER_CLI_SIMULATE_SIM_TEXT_H_

#include <string>

#include "base/json.h"
#include "cli/simulate/simulator.h"

namespace muster::cli {

// The report as text for people, and as JSON for programs. Pure.
std::string ReportText(const SimReport& report);
Json ReportJson(const SimReport& report);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_TEXT_H_
