#ifndef MUSTER_OPERATOR_WEB_DECISION_PAGE_H_
#define MUSTER_OPERATOR_WEB_DECISION_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// Returns one decision of the scheduler with all of its inputs (see
// operator/queue/record/decision_json.h). kInvalidArgument if `id` is not a number; kNotFound,
// naming the nearest one, if it is not kept. Thread-safe.
absl::StatusOr<Json> DecisionPage(const WebDeps& deps, const std::string& id);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_DECISION_PAGE_H_
