#ifndef MUSTER_CLI_PLACEMENT_PLACEMENT_TEXT_H_
#define MUSTER_CLI_PLACEMENT_PLACEMENT_TEXT_H_

#include "base/json.h"

namespace muster::cli {

// Functions that print the operator's pages on placement and queues (docs/http-api.md) to stdout,
// for people. Missing fields count as empty.

// Prints a job's actual or possible placement, or why it has none.
void PrintGang(const Json& page);
// Prints the topology with each domain's free resources; a large cluster's hosts are only counted.
void PrintTree(const Json& tree);
void PrintAllHosts(const Json& tree);
// Prints queues with their shares and waiting jobs.
void PrintQueues(const Json& page);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLACEMENT_PLACEMENT_TEXT_H_
