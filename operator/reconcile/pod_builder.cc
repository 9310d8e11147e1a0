#include "operator/reconcile/pod_builder.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/coordinator/token_reviewer.h"
#include "operator/core/view.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr char kGpuResource[] = "nvidia.com/gpu";

absl::StatusOr<Json> ParseTemplate(const TrainingJob& job) {
  const std::string& raw = job.spec.template_().raw();
  if (raw.empty()) return Json::object();
  MUSTER_ASSIGN_OR_RETURN(Json json, ParseJson(raw));
  if (!json.is_object()) return absl::InvalidArgumentError("spec.template must be an object");
  return json;
}

// Returns the object at `field`; creates it if it is absent or of another type.
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

// The token's audience is the coordinator alone; it is bound to the pod, and the kubelet renews it.
constexpr char kTokenVolume[] = "muster-coordinator-token";
constexpr char kTokenFolder[] = "/var/run/secrets/muster.dev/coordinator";
constexpr char kTokenFile[] = "token";
constexpr int kTokenSeconds = 3600;

void DropNamed(Json& list, const char* name) {
  for (size_t i = list.size(); i > 0; --i) {
    if (kube::StringAt(list[i - 1], {"name"}) == name) list.erase(i - 1);
  }
}

void AddToken(Json& spec, Json& container) {
  const Json source = {{"audience", kCoordinatorAudience},
                       {"expirationSeconds", kTokenSeconds},
                       {"path", kTokenFile}};
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kTokenVolume);
  volumes.push_back(
      {{"name", kTokenVolume}, {"projected", {{"sources", {{{"serviceAccountToken", source}}}}}}});
  Json& mounts = ListIn(container, "volumeMounts");
  DropNamed(mounts, kTokenVolume);
  mounts.push_back({{"name", kTokenVolume}, {"mountPath", kTokenFolder}, {"readOnly", true}});
  // Neither agent nor trainer calls the API server.
  if (!spec.contains("automountServiceAccountToken")) spec["automountServiceAccountToken"] = false;
}

// The volume by which the agent comes into a container of the user's image.
constexpr char kAgentVolume[] = "muster-agent";
constexpr char kAgentFolder[] = "/var/lib/muster";
// Larger than the program, which a test of the images bounds.
constexpr char kAgentVolumeSize[] = "128Mi";
constexpr int kNobody = 65532;

// Makes the init container that copies the agent; the pod may be in a restricted namespace.
Json AgentInstaller(const std::string& image) {
  const Json amounts = {{"cpu", "10m"}, {"memory", "64Mi"}};
  return {{"name", kAgentVolume},
          {"image", image},
          {"command", {"muster-agent", "install", kAgentFolder}},
          {"resources", {{"requests", amounts}, {"limits", {{"memory", "64Mi"}}}}},
          {"securityContext",
           {{"allowPrivilegeEscalation", false},
            {"capabilities", {{"drop", {"ALL"}}}},
            {"readOnlyRootFilesystem", true},
            {"runAsNonRoot", true},
            {"runAsUser", kNobody},
            {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
          {"volumeMounts", {{{"name", kAgentVolume}, {"mountPath", kAgentFolder}}}}};
}

// It runs first, because the user's init containers may take long or fail.
void BringAgent(Json& spec, Json& worker, const std::string& image) {
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kAgentVolume);
  volumes.push_back({{"name", kAgentVolume}, {"emptyDir", {{"sizeLimit", kAgentVolumeSize}}}});
  Json& installers = ListIn(spec, "initContainers");
  DropNamed(installers, kAgentVolume);
  installers.insert(installers.begin(), AgentInstaller(image));
  Json& mounts = ListIn(worker, "volumeMounts");
  DropNamed(mounts, kAgentVolume);
  mounts.push_back({{"name", kAgentVolume}, {"mountPath", kAgentFolder}, {"readOnly", true}});
  worker["command"] = {absl::StrCat(kAgentFolder, "/muster-agent"), "worker"};
}

// Returns muster's variables that are the same in all pods.
Json CommonEnvironment(const PodBuilderOptions& options) {
  Json ours = Json::array();
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
  return ours;
}

// Returns the index of the container; creates it if the template has none.
size_t SetWorkerContainer(Json& spec, const TrainingJob& job, const PodBuilderOptions& options) {
  Json& containers = ListIn(spec, "containers");
  size_t index = containers.size();
  for (size_t i = 0; i < containers.size(); ++i) {
    if (kube::StringAt(containers[i], {"name"}) == kWorkerContainer) index = i;
  }
  if (index == containers.size()) containers.push_back({{"name", kWorkerContainer}});
  Json& worker = containers[index];
  const bool image_is_ours = job.spec.has_trainer() || kube::StringAt(worker, {"image"}).empty();
  if (image_is_ours) worker["image"] = options.worker_image;
  worker["command"] = {"muster-agent", "worker"};
  worker.erase("args");
  if (!image_is_ours && !options.agent_image.empty()) {
    BringAgent(spec, worker, options.agent_image);
  }
  if (!options.coordinator_ca.empty()) AddToken(spec, worker);
  return index;
}

void AddGpus(Json& spec, Json& worker, int gpus) {
  Json& limits = ObjectIn(ObjectIn(worker, "resources"), "limits");
  if (!limits.contains(kGpuResource)) limits[kGpuResource] = absl::StrCat(gpus);
  // Nodes with GPUs are commonly tainted by the resource's name, against pods that need none.
  ListIn(spec, "tolerations").push_back({{"key", kGpuResource}, {"operator", "Exists"}});
}

// Sets the template's labels and annotations, and the job as the owner.
void SetMeta(Json& pod, const Json& pod_template, const TrainingJob& job) {
  for (const char* map : {"labels", "annotations"}) {
    const Json* given = kube::Find(pod_template, {"metadata", map});
    if (given != nullptr && given->is_object()) pod["metadata"][map] = *given;
  }
  kube::OwnerReference owner;
  owner.api_version = kApiVersion;
  owner.kind = kTrainingJobKind;
  owner.name = job.name;
  owner.uid = job.uid;
  owner.controller = true;
  owner.block_owner_deletion = true;
  kube::SetOwners(pod, {owner});
}

// Lets kubelets and other schedulers know which pods may be preempted for which.
void SetPriorityClass(Json& spec, const TrainingJob& job, const PodBuilderOptions& options) {
  const std::string& name = job.spec.priority_class_name();
  if (name.empty() || spec.contains("priorityClassName") || spec.contains("priority")) return;
  if (options.has_priority_class == nullptr || !options.has_priority_class(name)) return;
  spec["priorityClassName"] = name;
}

}  // namespace

absl::StatusOr<PodBuilder> PodBuilder::Make(const TrainingJob& job,
                                            const PodBuilderOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(const Json pod_template, ParseTemplate(job));
  PodBuilder builder;
  Json& pod = builder.pod_;
  pod = kube::NewObject(kube::kPods, {job.ns, ""});
  SetMeta(pod, pod_template, job);
  const Json* given = kube::Find(pod_template, {"spec"});
  Json& spec = pod["spec"];
  spec = given != nullptr && given->is_object() ? *given : Json::object();
  const std::string scheduler = kube::StringAt(spec, {"schedulerName"});
  if (!scheduler.empty() && scheduler != "muster") {
    return absl::InvalidArgumentError(
        absl::StrCat("spec.template.spec.schedulerName is \"", scheduler,
                     "\": leave it out, muster places the pods of its jobs itself"));
  }
  spec["restartPolicy"] = "Never";
  spec["schedulerName"] = "muster";
  spec.erase("nodeName");  // binding is the scheduler's
  SetPriorityClass(spec, job, options);
  builder.worker_ = SetWorkerContainer(spec, job, options);
  builder.env_ = CommonEnvironment(options);
  builder.users_env_ = ListIn(spec["containers"][builder.worker_], "env");
  spec["containers"][builder.worker_].erase("env");
  return builder;
}

Json PodBuilder::Build(const CreatePod& create) const {
  Json pod = pod_;
  kube::SetName(pod, create.name);
  for (const auto& [key, value] : create.labels) kube::SetLabel(pod, key, value);
  Json& spec = pod["spec"];
  Json& worker = spec["containers"][worker_];
  // Muster's variables come first, so that the user's may refer to them as $(NAME).
  Json env = Json::array();
  for (const auto& [name, value] : create.env) env.push_back({{"name", name}, {"value", value}});
  env.insert(env.end(), env_.begin(), env_.end());
  std::set<std::string> taken;
  for (const Json& entry : env) taken.insert(kube::StringAt(entry, {"name"}));
  for (const Json& entry : users_env_) {
    if (taken.count(kube::StringAt(entry, {"name"})) == 0) env.push_back(entry);
  }
  worker["env"] = std::move(env);
  if (create.gpus > 0) AddGpus(spec, worker, create.gpus);
  return pod;
}

absl::StatusOr<Json> BuildPod(const TrainingJob& job, const CreatePod& create,
                              const PodBuilderOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(const PodBuilder builder, PodBuilder::Make(job, options));
  return builder.Build(create);
}

}  // namespace muster::control
