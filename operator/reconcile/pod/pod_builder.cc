#include "operator/reconcile/pod/pod_builder.h"

#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "operator/coordinator/identity/token_reviewer.h"
#include "operator/core/state/view.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/reconcile/pod/job_owner.h"
#include "operator/reconcile/pod/pod_json.h"
#include "operator/reconcile/pod/pod_parts.h"

namespace muster::control {
namespace {

absl::StatusOr<Json> ParseTemplate(const TrainingJob& job) {
  const std::string& raw = job.spec.template_().raw();
  if (raw.empty()) return Json::object();
  MUSTER_ASSIGN_OR_RETURN(Json json, ParseJson(raw));
  if (!json.is_object()) return absl::InvalidArgumentError("spec.template must be an object");
  return json;
}

Json FromField(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

// The token's audience is the coordinator alone; it is bound to the pod, and the kubelet renews it.
constexpr char kTokenVolume[] = "muster-coordinator-token";
constexpr char kTokenFolder[] = "/var/run/secrets/muster.dev/coordinator";
constexpr char kTokenFile[] = "token";
constexpr int kTokenSeconds = 3600;

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

// If neither the template nor the administrator says it, the API server does, by the image's tag.
void SetPullPolicy(const std::string& policy, Json& container) {
  if (!policy.empty()) SetIfAbsent(container, "imagePullPolicy", policy);
}

// Makes the init container that copies the agent; the pod may be in a restricted namespace.
Json AgentInstaller(const PodBuilderOptions& options) {
  const Json amounts = {{"cpu", "10m"}, {"memory", "64Mi"}};
  Json installer = {{"name", kAgentVolume},
                    {"image", options.agent_image},
                    {"command", {"muster-agent", "install", kAgentFolder}},
                    {"resources", {{"requests", amounts}, {"limits", {{"memory", "64Mi"}}}}},
                    {"securityContext", RestrictedContext()},
                    {"volumeMounts", {{{"name", kAgentVolume}, {"mountPath", kAgentFolder}}}}};
  SetPullPolicy(options.agent_pull_policy, installer);
  return installer;
}

// It runs first, because the user's init containers may take long or fail.
void BringAgent(Json& spec, Json& worker, const PodBuilderOptions& options) {
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kAgentVolume);
  volumes.push_back({{"name", kAgentVolume}, {"emptyDir", {{"sizeLimit", kAgentVolumeSize}}}});
  Json& installers = ListIn(spec, "initContainers");
  DropNamed(installers, kAgentVolume);
  installers.insert(installers.begin(), AgentInstaller(options));
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
  if (image_is_ours) {
    worker["image"] = options.worker_image;
    SetPullPolicy(options.worker_pull_policy, worker);
  }
  worker["command"] = {"muster-agent", "worker"};
  worker.erase("args");
  if (!image_is_ours && !options.agent_image.empty()) {
    BringAgent(spec, worker, options);
  }
  if (!options.coordinator_ca.empty()) AddToken(spec, worker);
  return index;
}

// Sets the template's labels and annotations, and the job as the owner.
void SetMeta(Json& pod, const Json& pod_template, const TrainingJob& job) {
  for (const char* map : {"labels", "annotations"}) {
    const Json* given = kube::Find(pod_template, {"metadata", map});
    if (given != nullptr && given->is_object()) pod["metadata"][map] = *given;
  }
  SetJobAsOwner(job, pod);
}

void AddPullSecrets(Json& spec, const PodBuilderOptions& options) {
  for (const std::string& name : options.pull_secrets) {
    Json& secrets = ListIn(spec, "imagePullSecrets");
    DropNamed(secrets, name);
    secrets.push_back({{"name", name}});
  }
}

// Returns the variables of the cluster that the template does not set, before those that it sets.
Json WorkerEnvironment(const Json& of_template, const PodBuilderOptions& options) {
  Json all = Json::array();
  for (const auto& [name, value] : options.worker_env) {
    all.push_back({{"name", name}, {"value", value}});
  }
  for (const Json& entry : of_template) {
    DropNamed(all, kube::StringAt(entry, {"name"}));
  }
  all.insert(all.end(), of_template.begin(), of_template.end());
  return all;
}

// The keys of the store of checkpoint.s3, for the container of the worker alone.
void AddStoreKeys(const TrainingJob& job, Json& env) {
  const v1alpha1::S3Spec& store = job.spec.checkpoint().s3();
  if (!store.has_credentials_secret()) return;
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
    Json key = {{"name", store.credentials_secret()}, {"key", name}};
    // Only temporary keys have a token.
    if (std::string_view(name) == "AWS_SESSION_TOKEN") key["optional"] = true;
    env.push_back({{"name", name}, {"valueFrom", {{"secretKeyRef", std::move(key)}}}});
  }
}

// Sets what has an effect in containers alone.
absl::Status SetContainerFields(const TrainingJob& job, const PodBuilderOptions& options,
                                Json& spec, Json& worker, Json& env) {
  AddPullSecrets(spec, options);
  if (job.spec.has_trainer()) RestrictWorker(spec, worker);
  AddStoreKeys(job, env);
  const absl::Duration grace = SetTerminationGrace(job.spec, spec);
  env.push_back({{"name", "MUSTER_POD_GRACE"}, {"value", absl::FormatDuration(grace)}});
  return AddSharedMemory(job.spec, spec, worker);
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
  AddSpot(job.spec, pod);
  builder.worker_ = SetWorkerContainer(spec, job, options);
  builder.env_ = CommonEnvironment(options);
  Json& worker = spec["containers"][builder.worker_];
  if (options.containers) {
    MUSTER_RETURN_IF_ERROR(SetContainerFields(job, options, spec, worker, builder.env_));
  }
  AddRdma(job.spec.workers().rdma(), worker);
  builder.users_env_ = WorkerEnvironment(ListIn(worker, "env"), options);
  worker.erase("env");
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
  if (!create.avoided_node.empty()) AvoidNode(create.avoided_node, spec);
  return pod;
}

absl::StatusOr<Json> BuildPod(const TrainingJob& job, const CreatePod& create,
                              const PodBuilderOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(const PodBuilder builder, PodBuilder::Make(job, options));
  return builder.Build(create);
}

}  // namespace muster::control
