#include "operator/api/pod_template.h"

#include <utility>

#include "absl/status/statusor.h"
#include "base/json_fields.h"

namespace muster::control {

Json PodTemplateOf(const v1alpha1::TrainingJobSpec& spec) {
  absl::StatusOr<Json> raw = ParseJson(spec.template_().raw());
  return raw.ok() ? *std::move(raw) : Json();
}

std::map<size_t, const Json*> WorkerContainers(const Json& pod_template) {
  std::map<size_t, const Json*> workers;
  const Json& containers = ArrayField(ObjectField(pod_template, "spec"), "containers");
  for (size_t i = 0; i < containers.size(); ++i) {
    if (StringField(containers[i], "name") == "worker") workers[i] = &containers[i];
  }
  return workers;
}

}  // namespace muster::control
