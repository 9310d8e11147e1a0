#ifndef MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
#define MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Whose turn it is: {"items": [{"name", "parent", "weight", "share", "borrowing", "cohort",
// "broken", "used", "nominal", "running", "waiting", "jobs": [{"job", "priority", "workers",
// "gpus", "waitedSeconds", "reason", "sentence"}]}]}, the next job first and `limit` of each queue
// at most. Of one queue when it is named; kNotFound when there is none of that name. Thread-safe.
absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_QUEUE_PAGE_H_
