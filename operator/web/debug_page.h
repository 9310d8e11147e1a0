#ifndef MUSTER_OPERATOR_WEB_DEBUG_PAGE_H_
#define MUSTER_OPERATOR_WEB_DEBUG_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

struct DebugQuery {
  // "namespace/name" of the only job to show, with each agent's last report, its members and its
  // pods.
  std::string job;
  // Otherwise jobs are summarised in the order of their keys, starting after this key.
  std::string after;
  int64_t limit = 100;
};
inline constexpr int64_t kMaxDebugJobs = 500;
inline constexpr size_t kMaxDebugKeys = 100;  // of the work queue, those in progress first

// Returns the operator's state: jobs, queue, leader, the caches' versions. `next` in it is the
// `after` of the next page. kNotFound for a job about which this operator has made no decision.
// Thread-safe.
absl::StatusOr<Json> DebugPage(const WebDeps& deps, const DebugQuery& query);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_DEBUG_PAGE_H_
