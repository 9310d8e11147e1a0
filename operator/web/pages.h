#ifndef MUSTER_OPERATOR_WEB_PAGES_H_
#define MUSTER_OPERATOR_WEB_PAGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"
#include "operator/web/web_deps.h"

// The content of the HTTP API's pages, independent of HTTP. Thread-safe.
namespace muster::control {

// Returns the Prometheus text format, or OpenMetrics.
std::string MetricsPage(const WebDeps& deps, bool open_metrics);

// Returns {"items": [{"namespace", "name", "uid", "state", "workers", "progress", ...}]}.
Json JobList(const WebDeps& deps);

struct JobQuery {
  // Only steps after this one; -1 for all that are remembered.
  int64_t since = -1;
  size_t limit = 512;
  bool curve = false;  // the whole run, thinned
};
// Returns {"metadata", "spec", "status", "round", "agents", "pods", "progress", "steps"}; kNotFound
// for an unknown job.
absl::StatusOr<Json> JobPage(const WebDeps& deps, const kube::ObjectKey& key,
                             const JobQuery& query);

// Returns the queues and the order of their jobs: {"items": [{"name", "parent", "weight", "share",
// "borrowing", "cohort", "broken", "used", "nominal", "unknownResources", "complaint", "running",
// "waiting", "jobs": [{"job", "priority", "workers", "gpus", "waitedSeconds", "reason",
// "sentence"}]}]}. Each queue has at most `limit` jobs, the next one first. If `name` is not empty,
// returns only that queue, or kNotFound if it does not exist. Thread-safe.
absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit);

// Returns one decision of the scheduler with all of its inputs (see
// operator/queue/record/decision_json.h). kInvalidArgument if `id` is not a number; kNotFound,
// naming the nearest one, if it is not kept. Thread-safe.
absl::StatusOr<Json> DecisionPage(const WebDeps& deps, const std::string& id);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_PAGES_H_
