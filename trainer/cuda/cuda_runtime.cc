#include "trainer/cuda/cuda_runtime.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "ATen/Context.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "c10/cuda/CUDAStream.h"
#include "c10/util/Exception.h"
#include "trainer/cuda/cuda_queue.h"
#include "trainer/cuda/cuda_status.h"
#include "trainer/cuda/device_kernels.h"
#include "trainer/cuda/kernels/chunk_squares.h"
#include "trainer/cuda/nccl_api.h"
#include "trainer/cuda/nccl_communicator.h"

namespace muster::trainer::cuda {
namespace {

constexpr char kNoGpu[] = "no GPU can be used";
constexpr char kNccl[] = "libnccl.so.2";
constexpr int64_t kChunk = 4096;

absl::Status RunCheck(float* values, double* sum) {
  MUSTER_RETURN_IF_ERROR(CudaStatus(cudaMemset(values, 0, kChunk * sizeof(float)), "cudaMemset"));
  const float three = 3.0f;
  MUSTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpy(values + 77, &three, sizeof(three), cudaMemcpyHostToDevice), "cudaMemcpy"));
  MUSTER_RETURN_IF_ERROR(
      ToStatus(LaunchChunkSquares(values, 1, kChunk, sum, nullptr), "the first kernel"));
  double result = 0;
  MUSTER_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpy(&result, sum, sizeof(result), cudaMemcpyDeviceToHost), "the first kernel"));
  if (result == 9.0) return absl::OkStatus();
  return absl::InternalError("the device computes wrongly: a sum of squares is not 9");
}

// Runs a kernel and reads its result.
absl::Status CheckCurrentDevice() {
  float* values = nullptr;
  double* sum = nullptr;
  absl::Status status = CudaStatus(cudaMalloc(&values, kChunk * sizeof(float)), "cudaMalloc");
  if (status.ok()) status = CudaStatus(cudaMalloc(&sum, sizeof(double)), "cudaMalloc");
  if (status.ok()) status = RunCheck(values, sum);
  status.Update(CudaStatus(cudaFree(values), "cudaFree"));
  status.Update(CudaStatus(cudaFree(sum), "cudaFree"));
  return status;
}

// Returns what all containers of this machine share, and no other machine has.
std::string BootOfThisMachine() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

class Connector final : public DeviceConnector {
 public:
  explicit Connector(NcclOptions options) : connector_(std::move(options)) {}
  absl::StatusOr<std::unique_ptr<Communicator>> Connect() override { return connector_.Connect(); }
  void Abort(std::string_view why) override { connector_.Abort(why); }

 private:
  NcclConnector connector_;
};

class CudaRuntime final : public DeviceRuntime {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }

  absl::StatusOr<DeviceVersions> Versions() override {
    DeviceVersions versions{.built_with = CUDART_VERSION};
    MUSTER_RETURN_IF_ERROR(
        CudaStatus(cudaDriverGetVersion(&versions.driver), "cudaDriverGetVersion"));
    MUSTER_RETURN_IF_ERROR(
        CudaStatus(cudaRuntimeGetVersion(&versions.cuda), "cudaRuntimeGetVersion"));
    const auto nccl = LoadNccl(kNccl);
    if (!nccl.ok()) {
      versions.no_nccl = std::string(nccl.status().message());
    } else if (nccl->get_version(&versions.nccl) != ncclSuccess) {
      versions.no_nccl = "NCCL does not say its version";
    }
    return versions;
  }

  absl::StatusOr<int> Count() override {
    int count = 0;
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceCount(&count), kNoGpu));
    return count;
  }

  absl::Status Use(int index) override {
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), kNoGpu));
    MUSTER_RETURN_IF_ERROR(CheckCurrentDevice());
    try {
      at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    } catch (const c10::Error& e) {
      return absl::FailedPreconditionError(
          absl::StrCat("LibTorch cannot use the GPU: ", e.what_without_backtrace()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DeviceFacts> Describe(int index) override {
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(index), kNoGpu));
    cudaDeviceProp properties = {};
    MUSTER_RETURN_IF_ERROR(
        CudaStatus(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties"));
    char pci[32] = "";
    MUSTER_RETURN_IF_ERROR(
        CudaStatus(cudaDeviceGetPCIBusId(pci, sizeof(pci), index), "cudaDeviceGetPCIBusId"));
    size_t free = 0, total = 0;
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total), "cudaMemGetInfo"));
    return DeviceFacts{
        .name = properties.name,
        .uuid = absl::BytesToHexString({properties.uuid.bytes, sizeof(properties.uuid.bytes)}),
        .card = absl::StrCat(BootOfThisMachine(), " ", pci),
        .capability = 10 * properties.major + properties.minor,
        .free_bytes = static_cast<int64_t>(free),
        .total_bytes = static_cast<int64_t>(total)};
  }

  const Kernels& kernels() override { return *kernels_; }

  absl::StatusOr<std::unique_ptr<DeviceConnector>> MakeConnector(
      const DeviceGroup& group) override {
    MUSTER_ASSIGN_OR_RETURN(NcclApi api, LoadNccl(kNccl));
    const int index = group.device.index();
    return std::make_unique<Connector>(
        NcclOptions{.api = api,
                    .device = group.device,
                    .make_queue = [index] { return MakeCudaQueue(index); },
                    .store = group.store,
                    .secret = group.secret,
                    .rank = group.rank,
                    .size = group.size,
                    .tag = group.tag,
                    .deadline = group.deadline});
  }

 private:
  const std::unique_ptr<Kernels> kernels_ = MakeDeviceKernels([](c10::Device device) -> Stream {
    return c10::cuda::getCurrentCUDAStream(device.index()).stream();
  });
};

}  // namespace

std::unique_ptr<DeviceRuntime> MakeCudaRuntime() { return std::make_unique<CudaRuntime>(); }

}  // namespace muster::trainer::cuda

namespace muster::trainer {

DeviceRuntime* MusterDeviceRuntime() {
  static DeviceRuntime* const runtime = cuda::MakeCudaRuntime().release();
  return runtime;
}

}  // namespace muster::trainer
