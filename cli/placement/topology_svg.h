#ifndef MUSTER_CLI_PLACEMENT_TOPOLOGY_SVG_H_
#define MUSTER_CLI_PLACEMENT_TOPOLOGY_SVG_H_

#include <string>

#include "base/json.h"

namespace muster::cli {

// Draws the operator's topology page (/api/v1/topology) as a standalone SVG file: nested boxes for
// the domains, and in each node a cell per GPU, dark if it is in use; without GPUs, the share of
// its CPUs. Missing fields count as empty. Pure.
std::string TopologySvg(const Json& page);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLACEMENT_TOPOLOGY_SVG_H_
