#include "operator/web/health.h"

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

HealthCheck LeaseCheck(const WebDeps& deps) {
  const std::string lost = deps.leader ? deps.leader().lost : "";
  return {"leader-election", lost.empty() ? "" : "the lease was lost: " + lost};
}

}  // namespace

std::vector<HealthCheck> LivenessChecks(const WebDeps& deps) {
  const absl::Duration longest = deps.queue.stats().longest_running;
  std::string trouble;
  if (longest >= kStuck) {
    trouble = absl::StrCat("a job has been worked on for ", absl::FormatDuration(longest));
  }
  return {{"ping", ""}, {"work-queue", trouble}, LeaseCheck(deps)};
}

std::vector<HealthCheck> ReadinessChecks(const WebDeps& deps) {
  const bool synced = !deps.ready || deps.ready();
  return {{"ping", ""},
          {"caches-synced", synced ? "" : "the caches have not synced"},
          LeaseCheck(deps)};
}

HealthPage RenderHealth(const std::string& endpoint, const std::vector<HealthCheck>& checks,
                        bool verbose) {
  HealthPage page{true, ""};
  for (const HealthCheck& check : checks) {
    if (check.trouble.empty()) {
      absl::StrAppend(&page.text, "[+]", check.name, " ok\n");
    } else {
      absl::StrAppend(&page.text, "[-]", check.name, " failed: ", check.trouble, "\n");
      page.healthy = false;
    }
  }
  if (page.healthy && !verbose) return {true, "ok\n"};
  absl::StrAppend(&page.text, endpoint, " check ", page.healthy ? "passed" : "failed", "\n");
  return page;
}

}  // namespace muster::control
