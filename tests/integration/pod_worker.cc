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

std::map<std::string, std::string> WorkerEnvironment(const Json& pod) {
  std::map<std::string, std::string> env;
  for (const Json& container : ArrayField(ObjectField(pod, "spec"), "containers")) {
    if (StringField(container, "name") != "worker") continue;
    for (const Json& entry : ArrayField(container, "env")) {
      const std::string field = kube::StringAt(entry, {"valueFrom", "fieldRef", "fieldPath"});
      env[StringField(entry, "name")] =
          field == "metadata.uid" ? kube::UidOf(pod) : StringField(entry, "value");
    }
  }
  return env;
}

v1alpha1::WorkerId WorkerOf(const Json& pod) {
  std::map<std::string, std::string> env = WorkerEnvironment(pod);
  v1alpha1::WorkerId worker;
  worker.set_namespace_(env["MUSTER_NAMESPACE"]);
  worker.set_job(env["MUSTER_JOB"]);
  worker.set_job_uid(env["MUSTER_JOB_UID"]);
  worker.set_index(ToInt(env["MUSTER_WORKER_INDEX"]));
  worker.set_incarnation(ToInt(env["MUSTER_INCARNATION"]));
  worker.set_pod_uid(env["MUSTER_POD_UID"]);
  return worker;
}

int RanksOf(const Json& pod) { return ToInt(WorkerEnvironment(pod)["MUSTER_RANKS"]); }

}  // namespace muster::control
