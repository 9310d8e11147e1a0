#include "operator/runtime/pod_builder.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr char kWorkerContainer[] = "worker";
constexpr char kGpuResource[] = "nvidia.com/gpu";

absl::StatusOr<Json> ParseTemplate(const TrainingJob& job) {
  const std::string& raw = job.spec.template_().raw();
  if (raw.empty()) return Json::object();
  MUSTER_ASSIGN_OR_RETURN(Json json, ParseJson(raw));
  if (!json.is_object()) return absl::InvalidArgumentError("spec.template must be an object");
  return json;
}

// The object at `field`, made when it is absent or something else.
Json& ObjectIn(Json& parent, const char* field) {
  Json& child = parent[field];
  if (!child.is_object()) child = Json::object();
  return child;
}
Json& ListIn(Json& parent, const char* field) {
  Json& child = parent[field];
  if (!child.is_array()) child = Json::array();
  return child;
}

Json FromField(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// For the coordinator alone, bound to the pod, replaced by kubelet before it ends.
constexpr char kTokenVolume[] = "muster-coordinator-token";
constexpr char kTokenFolder[] = "/var/run/secrets/muster.dev/coordinator";
constexpr char kTokenFile[] = "token";
constexpr char kTokenAudience[] = "muster.dev/coordinator";
constexpr int kTokenSeconds = 3600;

void DropNamed(Json& list, const char* name) {
  for (size_t i = list.size(); i > 0; --i) {
    if (kube::StringAt(list[i - 1], {"name"}) == name) list.erase(i - 1);
  }
}

void AddToken(Json& spec, Json& container) {
  const Json source = {
      {"audience", kTokenAudience}, {"expirationSeconds", kTokenSeconds}, {"path", kTokenFile}};
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kTokenVolume);
  volumes.push_back(
      {{"name", kTokenVolume}, {"projected", {{"sources", {{{"serviceAccountToken", source}}}}}}});
  Json& mounts = ListIn(container, "volumeMounts");
  DropNamed(mounts, kTokenVolume);
  mounts.push_back({{"name", kTokenVolume}, {"mountPath", kTokenFolder}, {"readOnly", true}});
  // Neither agent nor trainer speaks to the API server.
  if (!spec.contains("automountServiceAccountToken")) spec["automountServiceAccountToken"] = false;
}

// Ours come first, so that the user's may refer to them as $(NAME).
void SetEnvironment(Json& container, const CreatePod& create, const PodBuilderOptions& options) {
  Json ours = Json::array();
  for (const auto& [name, value] : create.env) ours.push_back({{"name", name}, {"value", value}});
  ours.push_back({{"name", "MUSTER_COORDINATOR"}, {"value", options.coordinator}});
  if (!options.coordinator_ca.empty()) {
    ours.push_back({{"name", "MUSTER_COORDINATOR_CA"}, {"value", options.coordinator_ca}});
    ours.push_back({{"name", "MUSTER_COORDINATOR_TOKEN"},
                    {"value", absl::StrCat(kTokenFolder, "/", kTokenFile)}});
  }
  if (!options.coordinator_silence.empty()) {
    ours.push_back(
        {{"name", "MUSTER_COORDINATOR_SILENCE"}, {"value", options.coordinator_silence}});
  }
  ours.push_back(FromField("MUSTER_POD_UID", "metadata.uid"));
  ours.push_back(FromField("MUSTER_POD_IP", "status.podIP"));
  std::set<std::string> taken;
  for (const Json& entry : ours) taken.insert(kube::StringAt(entry, {"name"}));
  for (const Json& entry : ListIn(container, "env")) {
    if (taken.count(kube::StringAt(entry, {"name"})) == 0) ours.push_back(entry);
  }
  container["env"] = std::move(ours);
}

void SetWorkerContainer(Json& spec, const TrainingJob& job, const CreatePod& create,
                        const PodBuilderOptions& options) {
  Json& containers = ListIn(spec, "containers");
  Json* worker = nullptr;
  for (Json& container : containers) {
    if (kube::StringAt(container, {"name"}) == kWorkerContainer) worker = &container;
  }
  if (worker == nullptr) {
    containers.push_back({{"name", kWorkerContainer}});
    worker = &containers.back();
  }
  const bool image_is_ours = job.spec.has_trainer() || kube::StringAt(*worker, {"image"}).empty();
  if (image_is_ours) (*worker)["image"] = options.worker_image;
  (*worker)["command"] = {"muster-agent", "worker"};
  worker->erase("args");
  SetEnvironment(*worker, create, options);
  if (!options.coordinator_ca.empty()) AddToken(spec, *worker);
  if (create.gpus > 0) {
    Json& limits = ObjectIn(ObjectIn(*worker, "resources"), "limits");
    if (!limits.contains(kGpuResource)) limits[kGpuResource] = absl::StrCat(create.gpus);
    // Nodes with GPUs are commonly tainted by the resource's name, against pods that need none.
    ListIn(spec, "tolerations").push_back({{"key", kGpuResource}, {"operator", "Exists"}});
  }
}

}  // namespace

absl::StatusOr<Json> BuildPod(const TrainingJob& job, const CreatePod& create,
                              const PodBuilderOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(const Json pod_template, ParseTemplate(job));
  Json pod = kube::NewObject(kube::kPods, {job.ns, create.name});
  for (const char* map : {"labels", "annotations"}) {
    const Json* given = kube::Find(pod_template, {"metadata", map});
    if (given != nullptr && given->is_object()) pod["metadata"][map] = *given;
  }
  for (const auto& [key, value] : create.labels) kube::SetLabel(pod, key, value);
  kube::OwnerReference owner;
  owner.api_version = kApiVersion;
  owner.kind = kTrainingJobKind;
  owner.name = job.name;
  owner.uid = job.uid;
  owner.controller = true;
  owner.block_owner_deletion = true;
  kube::SetOwners(pod, {owner});

  const Json* spec = kube::Find(pod_template, {"spec"});
  pod["spec"] = spec != nullptr && spec->is_object() ? *spec : Json::object();
  const std::string scheduler = kube::StringAt(pod, {"spec", "schedulerName"});
  if (!scheduler.empty() && scheduler != "muster") {
    return absl::InvalidArgumentError(
        absl::StrCat("spec.template.spec.schedulerName is \"", scheduler,
                     "\"; muster places the pods of its jobs itself"));
  }
  pod["spec"]["restartPolicy"] = "Never";
  pod["spec"]["schedulerName"] = "muster";
  pod["spec"].erase("nodeName");  // binding is the scheduler's
  SetWorkerContainer(pod["spec"], job, create, options);
  return pod;
}

}  // namespace muster::control
