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

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_PAGES_H_
