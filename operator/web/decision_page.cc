#include "operator/web/decision_page.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "operator/queue/record/decision_json.h"

namespace muster::control {

namespace {

// A decision on a large cluster takes some hundred megabytes as JSON, so only one is made at a
// time.
Mutex& OneAtATime() {
  static Mutex& mutex = *new Mutex;
  return mutex;
}

}  // namespace

absl::StatusOr<Json> DecisionPage(const WebDeps& deps, const std::string& id) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(id, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("a decision is a number, not '", id, "'"));
  }
  if (!deps.decision) {
    return absl::NotFoundError(
        "this operator keeps no decisions; start it with --decision-log-dir=DIRECTORY");
  }
  MutexLock lock(OneAtATime());
  MUSTER_ASSIGN_OR_RETURN(const DecisionRecord record, deps.decision(number));
  return ToJson(record);
}

}  // namespace muster::control
