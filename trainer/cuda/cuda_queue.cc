#include "trainer/cuda/cuda_queue.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "base/logging.h"
#include "base/status_macros.h"
#include "c10/cuda/CUDAGuard.h"
#include "c10/cuda/CUDAStream.h"
#include "trainer/cuda/cuda_status.h"

namespace muster::trainer::cuda {
namespace {

// An event without a time stamp.
class Event {
 public:
  static absl::StatusOr<Event> Make() {
    Event event;
    MUSTER_RETURN_IF_ERROR(
        CudaStatus(cudaEventCreateWithFlags(&event.event_, cudaEventDisableTiming),
                   "cudaEventCreateWithFlags"));
    return event;
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ == nullptr) return;
    const absl::Status ended = CudaStatus(cudaEventDestroy(event_), "cudaEventDestroy");
    if (!ended.ok()) MUSTER_LOG(WARN, "a CUDA event did not end well", {"error", ended});
  }
  cudaEvent_t get() const { return event_; }

 private:
  Event() = default;
  cudaEvent_t event_ = nullptr;
};

class CudaMark final : public QueueMark {
 public:
  explicit CudaMark(Event event) : event_(std::move(event)) {}
  absl::StatusOr<bool> Passed() override {
    const cudaError_t state = cudaEventQuery(event_.get());
    if (state == cudaErrorNotReady) return false;
    MUSTER_RETURN_IF_ERROR(CudaStatus(state, "the device has failed"));
    return true;
  }

 private:
  Event event_;
};

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue(int device, c10::cuda::CUDAStream stream, Event compute)
      : device_(device), stream_(stream), compute_(std::move(compute)) {}

  Stream stream() const override { return stream_.stream(); }
  absl::Status WaitForCompute() override {
    const cudaStream_t compute =
        c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device_)).stream();
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(compute_.get(), compute), "cudaEventRecord"));
    return CudaStatus(cudaStreamWaitEvent(stream(), compute_.get(), 0), "cudaStreamWaitEvent");
  }
  absl::StatusOr<std::unique_ptr<QueueMark>> Mark() override {
    MUSTER_ASSIGN_OR_RETURN(Event event, Event::Make());
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(event.get(), stream()), "cudaEventRecord"));
    return std::make_unique<CudaMark>(std::move(event));
  }

 private:
  const int device_;
  const c10::cuda::CUDAStream stream_;
  Event compute_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceQueue>> MakeCudaQueue(int device) {
  try {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(
        /*isHighPriority=*/true, static_cast<c10::DeviceIndex>(device));
    MUSTER_ASSIGN_OR_RETURN(Event compute, Event::Make());
    return std::make_unique<CudaQueue>(device, stream, std::move(compute));
  } catch (const c10::Error& e) {
    return absl::InternalError(e.what_without_backtrace());
  }
}

}  // namespace muster::trainer::cuda
