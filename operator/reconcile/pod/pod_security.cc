#include "operator/reconcile/pod/pod_security.h"

#include <algorithm>
#include <string>

#include "base/json_fields.h"
#include "operator/reconcile/pod/pod_json.h"

namespace muster::control {
namespace {

// Returns the field as the container has it: its own, else the pod's. Null if neither is given.
const Json* Effective(const Json& pod_context, const Json& own, const char* field) {
  const Json* found = FindField(own, {field});
  return found != nullptr ? found : FindField(pod_context, {field});
}

// The API server refuses a container that must not escalate and has either of these.
bool Escalates(const Json& own) {
  if (BoolField(own, "privileged")) return true;
  const Json& added = ArrayField(ObjectField(own, "capabilities"), "add");
  return std::any_of(added.begin(), added.end(), [](const Json& capability) {
    return capability == "SYS_ADMIN" || capability == "CAP_SYS_ADMIN";
  });
}

}  // namespace

Json RestrictedContext() {
  return {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}},
          {"readOnlyRootFilesystem", true},    {"runAsNonRoot", true},
          {"runAsUser", kImageUser},           {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

void RestrictWorker(Json& spec, Json& worker) {
  Json& pod_context = ObjectIn(spec, "securityContext");
  Json& own = ObjectIn(worker, "securityContext");
  const Json* user = Effective(pod_context, own, "runAsUser");
  const bool is_root = user != nullptr && *user == 0;
  if (user == nullptr) own["runAsUser"] = kImageUser;
  if (!is_root && Effective(pod_context, own, "runAsNonRoot") == nullptr) {
    own["runAsNonRoot"] = true;
  }
  if (Effective(pod_context, own, "seccompProfile") == nullptr) {
    own["seccompProfile"] = {{"type", "RuntimeDefault"}};
  }
  if (!Escalates(own)) SetIfAbsent(own, "allowPrivilegeEscalation", false);
  SetIfAbsent(ObjectIn(own, "capabilities"), "drop", Json::array({"ALL"}));
  if (is_root || pod_context.contains("fsGroup")) return;
  pod_context["fsGroup"] = kImageUser;
  // A large volume whose root has the group already is not walked through.
  SetIfAbsent(pod_context, "fsGroupChangePolicy", "OnRootMismatch");
}

}  // namespace muster::control
