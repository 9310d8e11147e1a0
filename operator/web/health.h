#ifndef MUSTER_OPERATOR_WEB_HEALTH_H_
#define MUSTER_OPERATOR_WEB_HEALTH_H_

#include <string>
#include <vector>

#include "operator/web/web_deps.h"

// The checks of /livez and /readyz, formatted as by kube-apiserver. Thread-safe.
namespace muster::control {

struct HealthCheck {
  std::string name;
  std::string trouble;  // empty: fine
};

// Liveness: whether the process may keep running. A job that has been worked on for kStuck fails
// it, since every call of a reconcile has a deadline.
inline constexpr absl::Duration kStuck = absl::Minutes(10);
std::vector<HealthCheck> LivenessChecks(const WebDeps& deps);

// Readiness: the caches have synced and the lease is not lost. A standby is ready.
std::vector<HealthCheck> ReadinessChecks(const WebDeps& deps);

struct HealthPage {
  bool healthy = false;
  std::string text;
};
// Returns "ok", or one line per check if one failed or if `verbose`.
HealthPage RenderHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                        bool verbose);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HEALTH_H_
