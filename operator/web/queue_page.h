#ifndef MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
#define MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Returns the queues and the order of their jobs: {"items": [{"name", "parent", "weight", "share",
// "borrowing", "cohort", "broken", "used", "nominal", "unknownResources", "complaint", "running",
// "waiting", "jobs": [{"job", "priority", "workers", "gpus", "waitedSeconds", "reason",
// "sentence"}]}]}. Each queue has at most `limit` jobs, the next one first. If `name` is not empty,
// returns only that queue, or kNotFound if it does not exist. Thread-safe.
absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
