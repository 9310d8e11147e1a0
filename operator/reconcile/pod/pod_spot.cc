#include "operator/reconcile/pod/pod_spot.h"

#include <algorithm>

#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/reconcile/pod/pod_json.h"

namespace muster::control {
namespace {

struct SpotTaint {
  const char* key;
  const char* value;
};

// The taints with the effect NoSchedule that Azure and Google put on spot nodes.
constexpr SpotTaint kTaints[] = {
    {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"cloud.google.com/gke-spot", "true"},
};

}  // namespace

void AddSpot(const v1alpha1::TrainingJobSpec& job, Json& pod) {
  if (!job.has_spot()) return;
  const bool allowed = !job.spot().has_allow() || job.spot().allow();
  if (!allowed) return kube::SetLabel(pod, kSpotLabel, kSpotAvoided);
  Json& tolerations = ListIn(ObjectIn(pod, "spec"), "tolerations");
  for (const SpotTaint& taint : kTaints) {
    const bool known = std::any_of(
        tolerations.begin(), tolerations.end(),
        [&taint](const Json& one) { return kube::StringAt(one, {"key"}) == taint.key; });
    if (known) continue;
    tolerations.push_back({{"key", taint.key},
                           {"operator", "Equal"},
                           {"value", taint.value},
                           {"effect", "NoSchedule"}});
  }
}

}  // namespace muster::control
