#include "operator/reconcile/pod/pod_shared_memory.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json_fields.h"
#include "base/quantity.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/reconcile/pod/pod_json.h"

namespace muster::control {
namespace {

constexpr char kVolume[] = "muster-shared-memory";
constexpr char kPath[] = "/dev/shm";
constexpr int64_t kMebibyte = int64_t{1} << 20;
// The default for each rank: NCCL and loaders of data need more than ranks without GPUs do.
constexpr int64_t kOfGpuRank = 1024 * kMebibyte;
constexpr int64_t kOfCpuRank = 64 * kMebibyte;

bool IsMounted(const Json& worker) {
  const Json& mounts = ArrayField(worker, "volumeMounts");
  return std::any_of(mounts.begin(), mounts.end(), [](const Json& mount) {
    const std::string path = kube::StringAt(mount, {"mountPath"});
    return absl::StripSuffix(path, "/") == kPath;
  });
}

std::string SizeOf(const v1alpha1::WorkersSpec& workers) {
  if (workers.has_shared_memory()) return workers.shared_memory();
  const int64_t bytes =
      workers.gpus() > 0 ? workers.gpus() * kOfGpuRank : std::max(workers.ranks(), 1) * kOfCpuRank;
  return absl::StrCat(bytes / kMebibyte, "Mi");
}

// Returns the amount as the template's author would write it: "1088Mi" rather than bytes.
std::string Text(int64_t bytes) {
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
void Add(const Quantity& size, Json& amounts) {
  const Json before = amounts.value("memory", Json("0"));
  const auto sum =
      Quantity::Parse(before.is_string() ? before.get<std::string>() : DumpJson(before));
  if (!sum.ok()) return;
  Quantity total = *sum;
  total += size;
  if (total.IsAbsurd()) return;
  amounts["memory"] = Text(total.Value());
}

// Returns the size of the volume: what the workers' processes share, and the copies of the state.
absl::StatusOr<std::string> VolumeSize(const v1alpha1::TrainingJobSpec& job) {
  const std::string shared = SizeOf(job.workers());
  if (!job.checkpoint().has_memory()) return shared;
  Quantity sum;
  for (const std::string& text : {shared, job.checkpoint().memory().size()}) {
    MUSTER_ASSIGN_OR_RETURN(const Quantity size, Quantity::Parse(text));
    sum += size;
  }
  return Text(sum.Value());
}

// Returns an error if the job wants a volume where its template mounts one itself.
absl::Status CheckTemplatesOwn(const v1alpha1::TrainingJobSpec& job) {
  if (job.workers().has_shared_memory()) {
    return absl::InvalidArgumentError(
        absl::StrCat("spec.workers.sharedMemory is ", job.workers().shared_memory(),
                     ", and the template mounts ", kPath, " itself: leave one of them out"));
  }
  if (!job.checkpoint().has_memory()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("spec.checkpoint.memory keeps copies of the state in ", kPath,
                   ", which the template mounts itself: leave one of them out"));
}

}  // namespace

absl::Status AddSharedMemory(const v1alpha1::TrainingJobSpec& job, Json& spec, Json& worker) {
  if (IsMounted(worker)) return CheckTemplatesOwn(job);
  MUSTER_ASSIGN_OR_RETURN(const std::string text, VolumeSize(job));
  const auto size = Quantity::Parse(text);
  if (!size.ok()) return size.status();
  Json& volumes = ListIn(spec, "volumes");
  DropNamed(volumes, kVolume);
  volumes.push_back({{"name", kVolume}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", text}}}});
  Json& mounts = ListIn(worker, "volumeMounts");
  DropNamed(mounts, kVolume);
  mounts.push_back({{"name", kVolume}, {"mountPath", kPath}});
  Json& resources = ObjectIn(worker, "resources");
  const bool is_limited = ObjectField(resources, "limits").contains("memory");
  // The API server takes an absent request from the limit.
  if (is_limited) Add(*size, resources["limits"]);
  if (!is_limited || ObjectField(resources, "requests").contains("memory")) {
    Add(*size, ObjectIn(resources, "requests"));
  }
  return absl::OkStatus();
}

}  // namespace muster::control
