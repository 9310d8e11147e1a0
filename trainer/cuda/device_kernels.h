#ifndef MUSTER_TRAINER_CUDA_DEVICE_KERNELS_H_
#define MUSTER_TRAINER_CUDA_DEVICE_KERNELS_H_

#include <memory>

#include "trainer/cuda/device_launch.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer::cuda {

// Makes the trainer's loops as kernels of a card, which are enqueued on the current stream of their
// tensors' device. FillNormal, FillDropout and ChunkSquares give the bits of the CPU, up to what
// trainer/cuda/kernels/fill.h says of logarithms; Digest is a hash of its own, after which the host
// has waited for the stream. It has layers and AdamW (trainer/cuda/kernels). A launch that
// fails is an exception of LibTorch.
std::unique_ptr<Kernels> MakeDeviceKernels(CurrentStream current);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_DEVICE_KERNELS_H_
