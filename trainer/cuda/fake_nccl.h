#ifndef MUSTER_TRAINER_CUDA_FAKE_NCCL_H_
#define MUSTER_TRAINER_CUDA_FAKE_NCCL_H_

#include <memory>

#include "trainer/cuda/device_queue.h"
#include "trainer/cuda/nccl_api.h"

namespace muster::trainer::cuda {

// NCCL among ranks that are threads of this process, on memory of the host. It keeps NCCL's
// contracts where they hurt: operations run one after the other on a stream, so that a message
// which nobody receives holds up those behind it; a call in progress is not done yet; a rank that
// is gone shows as an asynchronous error of the others, and a stuck operation stays stuck until it
// is aborted; the use of a handle after its end ends the process.
NcclApi FakeNccl();

// A stream of the host: a thread that carries out one operation after another.
std::unique_ptr<DeviceQueue> MakeFakeQueue();

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_FAKE_NCCL_H_
