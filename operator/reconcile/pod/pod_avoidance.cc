#include "operator/reconcile/pod/pod_avoidance.h"

#include "operator/reconcile/pod/pod_json.h"

namespace muster::control {

void AvoidNode(const std::string& node, Json& pod_spec) {
  Json& affinity = ObjectIn(ObjectIn(pod_spec, "affinity"), "nodeAffinity");
  Json& terms = ListIn(ObjectIn(affinity, "requiredDuringSchedulingIgnoredDuringExecution"),
                       "nodeSelectorTerms");
  if (terms.empty()) terms.push_back(Json::object());
  // A node must match one of the terms, so each of them has to exclude it.
  for (Json& term : terms) {
    if (!term.is_object()) continue;  // the API server refuses it
    ListIn(term, "matchFields")
        .push_back({{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", {node}}});
  }
}

}  // namespace muster::control
