#ifndef MUSTER_OPERATOR_WEB_HEALTH_H_
#define MUSTER_OPERATOR_WEB_HEALTH_H_

#include <string>
#include <vector>

#include "operator/web/web_deps.h"

// What /livez and /readyz say, as kube-apiserver's do. Thread-safe.
namespace muster::control {

struct HealthCheck {
  std::string name;
  std::string trouble;  // empty: fine
};

// Whether the process should be left running. A job that is worked on for kStuck means that it
// should not: every call of a reconcile has a deadline.
inline constexpr absl::Duration kStuck = absl::Minutes(10);
std::vector<HealthCheck> LivenessChecks(const WebDeps& deps);

// Whether it does its work: the caches have synced and the lease is not lost. A standby is ready.
std::vector<HealthCheck> ReadinessChecks(const WebDeps& deps);

struct HealthPage {
  bool healthy = false;
  std::string text;
};
// "ok", or every check on a line of its own when one failed or `verbose`.
HealthPage RenderHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                        bool verbose);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HEALTH_H_
