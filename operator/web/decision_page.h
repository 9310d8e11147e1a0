#ifndef MUSTER_OPERATOR_WEB_DECISION_PAGE_H_
#define MUSTER_OPERATOR_WEB_DECISION_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "operator/web/web_deps.h"

namespace muster::control {

// One decision of the scheduler with all that went into it: see
// operator/queue/record/decision_json.h. kInvalidArgument for an id that is no number; kNotFound,
// with the nearest, for one that is not kept. Thread-safe.
absl::StatusOr<Json> DecisionPage(const WebDeps& deps, const std::string& id);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_DECISION_PAGE_H_
