#include "tests/integration/pod_worker.h"

#include "absl/strings/numbers.h"
#include "base/json_fields.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

int ToInt(const std::string& text) {
  int value = -1;
  return absl::SimpleAtoi(text, &value) ? value : -1;
}

}  // namespace

PodWorker ReadPodWorker(const Json& pod) {
  PodWorker worker;
  std::map<std::string, std::string>& env = worker.env;
  for (const Json& container : ArrayField(ObjectField(pod, "spec"), "containers")) {
    if (StringField(container, "name") != "worker") continue;
    for (const Json& entry : ArrayField(container, "env")) {
      const std::string field = kube::StringAt(entry, {"valueFrom", "fieldRef", "fieldPath"});
      env[StringField(entry, "name")] =
          field == "metadata.uid" ? kube::UidOf(pod) : StringField(entry, "value");
    }
  }
  worker.id.set_namespace_(env["MUSTER_NAMESPACE"]);
  worker.id.set_job(env["MUSTER_JOB"]);
  worker.id.set_job_uid(env["MUSTER_JOB_UID"]);
  worker.id.set_index(ToInt(env["MUSTER_WORKER_INDEX"]));
  worker.id.set_incarnation(ToInt(env["MUSTER_INCARNATION"]));
  worker.id.set_pod_uid(env["MUSTER_POD_UID"]);
  worker.ranks = ToInt(env["MUSTER_RANKS"]);
  return worker;
}

}  // namespace muster::control
