#ifndef MUSTER_CLI_TOPOLOGY_SVG_H_
#define MUSTER_CLI_TOPOLOGY_SVG_H_

#include <string>

#include "base/json.h"

namespace muster::cli {

// The operator's topology page (/api/v1/topology) as a standalone SVG file: a box for each domain,
// in it those below, and each node with a cell for each GPU, dark where it is taken; without GPUs
// the share of its CPUs. Missing fields count as nothing. Pure.
std::string TopologySvg(const Json& page);

}  // namespace muster::cli

#endif  // MUSTER_CLI_TOPOLOGY_SVG_H_
