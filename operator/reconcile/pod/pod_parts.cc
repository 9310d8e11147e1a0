#include "operator/reconcile/pod/pod_parts.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/spot_labels.h"
#include "operator/reconcile/pod/pod_json.h"
#include "planner/memory.h"
#include "planner/model_presets.h"

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

namespace {

struct SpotTaint {
  const char* key;
  const char* value;
};

// The taints with the effect NoSchedule that Azure and Google put on spot nodes.
constexpr SpotTaint kSpotTaints[] = {
    {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"cloud.google.com/gke-spot", "true"},
};

}  // namespace

void AddSpot(const v1alpha1::TrainingJobSpec& job, Json& pod) {
  if (!job.has_spot()) return;
  const bool allowed = !job.spot().has_allow() || job.spot().allow();
  if (!allowed) return kube::SetLabel(pod, kSpotLabel, kSpotAvoided);
  Json& tolerations = ListIn(ObjectIn(pod, "spec"), "tolerations");
  for (const SpotTaint& taint : kSpotTaints) {
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

namespace {

constexpr char kGpuResource[] = "nvidia.com/gpu";
constexpr char kLockMemory[] = "IPC_LOCK";

bool AsksForGpus(const Json& limits) {
  for (const auto& [resource, amount] : limits.items()) {
    if (IsGpuResource(resource)) return true;
  }
  return false;
}

}  // namespace

void AddGpus(Json& spec, Json& worker, int gpus) {
  Json& limits = ObjectIn(ObjectIn(worker, "resources"), "limits");
  if (!AsksForGpus(limits)) limits[kGpuResource] = absl::StrCat(gpus);
  // Nodes with GPUs are commonly tainted by the resource's name, against pods that need none.
  ListIn(spec, "tolerations").push_back({{"key", kGpuResource}, {"operator", "Exists"}});
}

void AddRdma(const v1alpha1::RdmaSpec& rdma, Json& worker) {
  for (const v1alpha1::RdmaResource& resource : rdma.resources()) {
    // The API server takes the request of an extended resource from its limit.
    Json& limits = ObjectIn(ObjectIn(worker, "resources"), "limits");
    SetIfAbsent(limits, resource.name().c_str(), absl::StrCat(std::max(resource.count(), 1)));
  }
  if (!rdma.ipc_lock()) return;
  Json& added = ListIn(ObjectIn(ObjectIn(worker, "securityContext"), "capabilities"), "add");
  if (std::find(added.begin(), added.end(), Json(kLockMemory)) == added.end()) {
    added.push_back(kLockMemory);
  }
}

namespace {

constexpr char kSharedMemoryVolume[] = "muster-shared-memory";
constexpr char kSharedMemoryPath[] = "/dev/shm";
constexpr int64_t kMebibyte = int64_t{1} << 20;
// The default for each rank: NCCL and loaders of data need more than ranks without GPUs do.
constexpr int64_t kOfGpuRank = 1024 * kMebibyte;
constexpr int64_t kOfCpuRank = 64 * kMebibyte;

bool IsMounted(const Json& worker) {
  const Json& mounts = ArrayField(worker, "volumeMounts");
  return std::any_of(mounts.begin(), mounts.end(), [](const Json& mount) {
    const std::string path = kube::StringAt(mount, {"mountPath"});
    return absl::StripSuffix(path, "/") == kSharedMemoryPath;
  });
}

std::string SharedMemorySize(const v1alpha1::WorkersSpec& workers) {
  if (workers.has_shared_memory()) return workers.shared_memory();
  const int64_t bytes =
      workers.gpus() > 0 ? workers.gpus() * kOfGpuRank : std::max(workers.ranks(), 1) * kOfCpuRank;
  return absl::StrCat(bytes / kMebibyte, "Mi");
}

// Returns the amount as the template's author would write it: "1088Mi" rather than bytes.
std::string MemoryText(int64_t bytes) {
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  const char* unit = kUnits[0];
  for (const char* next : kUnits) {
    if (next == kUnits[0]) continue;
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return absl::StrCat(bytes, unit);
}

// Adds the size to the amount of memory in `amounts`. What is no quantity stays: the API server
// says so when the pod is created.
void AddMemory(const Quantity& size, Json& amounts) {
  const Json before = amounts.value("memory", Json("0"));
  const auto sum =
      Quantity::Parse(before.is_string() ? before.get<std::string>() : DumpJson(before));
  if (!sum.ok()) return;
  Quantity total = *sum;
  total += size;
  if (total.IsAbsurd()) return;
  amounts["memory"] = MemoryText(total.Value());
}

// Returns the size of the volume: what the workers' processes share, and the copies of the state.
absl::StatusOr<std::string> VolumeSize(const v1alpha1::TrainingJobSpec& job) {
  const std::string shared = SharedMemorySize(job.workers());
  if (!job.checkpoint().has_memory()) return shared;
  Quantity sum;
  for (const std::string& text : {shared, job.checkpoint().memory().size()}) {
    MUSTER_ASSIGN_OR_RETURN(const Quantity size, Quantity::Parse(text));
    sum += size;
  }
  return MemoryText(sum.Value());
}

// Returns an error if the job wants a volume where its template mounts one itself.
absl::Status CheckTemplatesOwn(const v1alpha1::TrainingJobSpec& job) {
  if (job.workers().has_shared_memory()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "spec.workers.sharedMemory is ", job.workers().shared_memory(),
        ", and the template mounts ", kSharedMemoryPath, " itself: leave one of them out"));
  }
  if (!job.checkpoint().has_memory()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("spec.checkpoint.memory keeps copies of the state in ", kSharedMemoryPath,
                   ", which the template mounts itself: leave one of them out"));
}

}  // namespace

absl::Status AddSharedMemory(const v1alpha1::TrainingJobSpec& job, Json& spec, Json& worker) {
  if (IsMounted(worker)) return CheckTemplatesOwn(job);
  MUSTER_ASSIGN_OR_RETURN(const std::string text, VolumeSize(job));
  const auto size = Quantity::Parse(text);
  if (!size.ok()) return size.status();
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kSharedMemoryVolume);
  volumes.push_back(
      {{"name", kSharedMemoryVolume}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", text}}}});
  Json& mounts = ListIn(worker, "volumeMounts");
  DropNamed(mounts, kSharedMemoryVolume);
  mounts.push_back({{"name", kSharedMemoryVolume}, {"mountPath", kSharedMemoryPath}});
  Json& resources = ObjectIn(worker, "resources");
  const bool is_limited = ObjectField(resources, "limits").contains("memory");
  // The API server takes an absent request from the limit.
  if (is_limited) AddMemory(*size, resources["limits"]);
  if (!is_limited || ObjectField(resources, "requests").contains("memory")) {
    AddMemory(*size, ObjectIn(resources, "requests"));
  }
  return absl::OkStatus();
}

namespace {

constexpr absl::Duration kUsualGrace = absl::Seconds(30);  // the API server's default
constexpr absl::Duration kLongestGrace = absl::Minutes(30);
// A slow network file system.
constexpr int64_t kBytesPerSecond = 100'000'000;
// The vocabulary where the job does not say how large it is: GPT-2's.
constexpr int32_t kVocabulary = 50304;
constexpr char kGraceField[] = "terminationGracePeriodSeconds";

// Returns 0 if the sizes of the model are not known: those of a TorchScript file stand in it alone,
// and a job whose sizes are wrong is refused before it has pods.
int64_t CheckpointBytes(const v1alpha1::TrainerSpec& trainer) {
  const v1alpha1::TokenizerSpec& tokenizer = trainer.data().tokenizer();
  const int32_t vocabulary = tokenizer.has_vocabulary() ? tokenizer.vocabulary() : kVocabulary;
  const bool known = trainer.model().vocabulary() > 0;
  const auto shape = planner::ResolveModel(trainer.model(), known ? 0 : vocabulary);
  const auto precision = planner::ParsePrecision(trainer.train().precision());
  const auto optimizer =
      planner::ParseOptimizer(trainer.optimizer().name(), trainer.optimizer().momentum());
  if (!shape.ok() || !precision.ok() || !optimizer.ok()) return 0;
  return planner::EstimateMemory(*shape, *precision, trainer.train().micro_batch(),
                                 trainer.train().sequence(), *optimizer)
      .checkpoint_copy;
}

}  // namespace

absl::Duration TerminationGrace(const v1alpha1::TrainingJobSpec& spec) {
  if (!spec.has_trainer() || !spec.has_checkpoint()) return kUsualGrace;
  const int64_t seconds = CheckpointBytes(spec.trainer()) / kBytesPerSecond;
  return std::min(kUsualGrace + absl::Seconds(seconds), kLongestGrace);
}

absl::Duration SetTerminationGrace(const v1alpha1::TrainingJobSpec& spec, Json& pod_spec) {
  const std::optional<int64_t> given = IntegerField(pod_spec, kGraceField);
  if (given) return absl::Seconds(std::max(*given, int64_t{0}));
  const absl::Duration grace = TerminationGrace(spec);
  if (!pod_spec.contains(kGraceField)) pod_spec[kGraceField] = absl::ToInt64Seconds(grace);
  return grace;
}

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
