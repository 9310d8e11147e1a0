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
  // "namespace/name": that job alone, with each agent's last word, its members and its pods.
  std::string job;
  // Else jobs by key, in short: those after `after`.
  std::string after;
  int64_t limit = 100;
};
inline constexpr int64_t kMaxDebugJobs = 500;
inline constexpr size_t kMaxDebugKeys = 100;  // of the queue, what is worked on first

// What the operator believes: jobs, queue, leader, the caches' versions. `next` is the next page's
// `after`. kNotFound for a job that this operator has not decided about. Thread-safe.
absl::StatusOr<Json> DebugPage(const WebDeps& deps, const DebugQuery& query);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_DEBUG_PAGE_H_
