#ifndef MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
#define MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Returns the queues and the order of their jobs: {"items": [{"name", "parent", "weight", "share",
// "borrowing", "cohort", "broken", "used", "nominal", "running", "waiting", "jobs": [{"job",
// "priority", "workers", "gpus", "waitedSeconds", "reason", "sentence"}]}]}. The next job comes
// first, with at most `limit` jobs per queue. If `name` is not empty, only that queue is returned,
// or kNotFound if there is none. Thread-safe.
absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
