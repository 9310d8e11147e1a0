#include "trainer/process/process_device.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "ATen/Context.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/full.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "trainer/device/device_versions.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/kernels/kernels.h"
#include "trainer/model/layers/linear.h"
#include "trainer/process/memory_check.h"

namespace muster::trainer {
namespace {

// The first GPUs whose tensor cores multiply FP8 numbers are Ada Lovelace's.
constexpr int kFp8Capability = 89;

absl::Status Explain(const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), absl::StrCat("workers.gpus: ", status.message())};
}

// An operator without a deterministic form fails instead of computing. cuBLAS reads its variable
// when it is first used, and needs it for equal bits.
void ComputeDeterministically() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

absl::StatusOr<ProcessDevice> Use(DeviceRuntime& runtime, int local_rank, int ranks) {
  MUSTER_ASSIGN_OR_RETURN(const DeviceVersions versions, runtime.Versions());
  MUSTER_RETURN_IF_ERROR(CheckVersions(versions, ranks));
  MUSTER_ASSIGN_OR_RETURN(const int count, runtime.Count());
  const int index = local_rank % count;
  MUSTER_RETURN_IF_ERROR(runtime.Use(index));
  ProcessDevice chosen{.device = {runtime.type(), static_cast<c10::DeviceIndex>(index)},
                       .runtime = &runtime};
  MUSTER_ASSIGN_OR_RETURN(chosen.facts, runtime.Describe(index));
  RegisterKernels(runtime.type(), runtime.kernels());
  MUSTER_LOG(INFO, "computing on a GPU", {"name", chosen.facts.name}, {"uuid", chosen.facts.uuid},
             {"index", index}, {"free_bytes", chosen.facts.free_bytes},
             {"driver_cuda", versions.driver}, {"cuda", versions.cuda}, {"nccl", versions.nccl});
  return chosen;
}

planner::MemoryEstimate OnGpu(planner::MemoryEstimate estimate) {
  estimate.checkpoint_copy = 0;
  return estimate;
}

planner::MemoryEstimate OnHost(const planner::MemoryEstimate& estimate) {
  return {.checkpoint_copy = estimate.checkpoint_copy, .fixed = estimate.fixed};
}

// Makes a product large enough that the call itself costs little beside it, and small enough that
// eight of them take a few milliseconds where bf16 is slow.
constexpr int64_t kProductSize = 192;
constexpr int kTries = 3;
constexpr double kWorthAWarning = 2.0;

// Returns the best of a few tries, because other processes use this machine, too. The first product
// is not counted: it chooses and prepares its kernel.
double SecondsOf(const Clock& clock, c10::ScalarType type) {
  const at::Tensor x = at::full({kProductSize, kProductSize}, 0.5, type);
  LinearOutIn(x, x);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const absl::Time begin = clock.Monotonic();
    LinearOutIn(x, x);
    best = std::min(best, absl::ToDoubleSeconds(clock.Monotonic() - begin));
  }
  return best;
}

}  // namespace

absl::StatusOr<ProcessDevice> ChooseDevice(const v1alpha1::TrainingJobSpec& spec, int local_rank,
                                           const LoadDevices& load) {
  if (spec.workers().gpus() == 0) return ProcessDevice{};
  if (spec.trainer().model().has_torch_script()) {
    return absl::InvalidArgumentError(
        "workers.gpus: a model of trainer.model.torchScript computes on CPUs alone: leave "
        "workers.gpus out");
  }
  if (load == nullptr) {
    return absl::FailedPreconditionError("workers.gpus: this program computes on CPUs alone");
  }
  const auto runtime = load();
  if (!runtime.ok()) return Explain(runtime.status());
  const int ranks = std::max(1, spec.workers().count()) * spec.workers().gpus();
  auto chosen = Use(**runtime, local_rank, ranks);
  if (!chosen.ok()) return Explain(chosen.status());
  if (spec.trainer().train().deterministic()) ComputeDeterministically();
  return chosen;
}

absl::Status CheckFp8Of(const ProcessDevice& device) {
  const int capability = device.facts.capability;
  if (device.runtime == nullptr || capability >= kFp8Capability) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "train.precision: fp8 needs a GPU of compute capability 8.9 or newer, such as "
      "an L4 or an H100, and the ",
      device.facts.name, " is of ", capability / 10, ".", capability % 10, ": use bf16"));
}

absl::StatusOr<ProductTimes> MeasureProducts(const Clock& clock) {
  ProductTimes times;
  const absl::Status measured = CatchTorch("timing bfloat16", [&] {
    const at::NoGradGuard guard;
    times.fp32 = SecondsOf(clock, c10::ScalarType::Float);
    times.bf16 = SecondsOf(clock, c10::ScalarType::BFloat16);
    return absl::OkStatus();
  });
  if (!measured.ok()) return measured;
  return times;
}

std::optional<std::string> SlowBf16(const ProductTimes& times) {
  const double factor = times.bf16 / times.fp32;
  if (!(times.fp32 > 0.0) || !(factor > kWorthAWarning)) return std::nullopt;
  return absl::StrFormat(
      "this CPU has no fast bfloat16: a matrix product takes %.1f times as long as in fp32; train "
      "with precision fp32 on it",
      factor);
}

absl::Status CheckMemoryOf(const ProcessDevice& device, const planner::MemoryEstimate& estimate,
                           int ranks, int64_t available, const std::vector<MemoryOption>& options) {
  if (device.runtime == nullptr) {
    return CheckMemory(estimate, ranks, available, "on this machine", options);
  }
  std::vector<MemoryOption> on_gpu = options, on_host = options;
  for (MemoryOption& option : on_gpu) option.estimate = OnGpu(option.estimate);
  for (MemoryOption& option : on_host) option.estimate = OnHost(option.estimate);
  MUSTER_RETURN_IF_ERROR(CheckMemory(OnGpu(estimate), 1, device.facts.free_bytes,
                                     absl::StrCat("on the GPU ", device.facts.name), on_gpu));
  return CheckMemory(OnHost(estimate), ranks, available,
                     "on this machine, for copies of checkpoints", on_host);
}

}  // namespace muster::trainer
