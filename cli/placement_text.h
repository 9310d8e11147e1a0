#ifndef MUSTER_CLI_PLACEMENT_TEXT_H_
#define MUSTER_CLI_PLACEMENT_TEXT_H_

#include "base/json.h"

namespace muster::cli {

// Prints the operator's pages on placement and queues (docs/http-api.md) to stdout, for people.
// Missing fields count as nothing.

// Where a job's workers are or would be, or why they are nowhere.
void PrintGang(const Json& page);
// The topology with what is free in each domain; hosts of a large cluster are only counted.
void PrintTree(const Json& tree);
void PrintAllHosts(const Json& tree);
// Queues with their shares, and who waits in each.
void PrintQueues(const Json& page);

}  // namespace muster::cli

#endif  // MUSTER_CLI_PLACEMENT_TEXT_H_
