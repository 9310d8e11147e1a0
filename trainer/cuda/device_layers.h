#ifndef MUSTER_TRAINER_CUDA_DEVICE_LAYERS_H_
#define MUSTER_TRAINER_CUDA_DEVICE_LAYERS_H_

#include <memory>

#include "trainer/cuda/device_launch.h"
#include "trainer/kernels/layer_kernels.h"

namespace muster::trainer::cuda {

// Makes the parts of layers as the kernels of a card (trainer/cuda/kernels), which are enqueued on
// the current stream of their tensors' device.
std::unique_ptr<LayerKernels> MakeDeviceLayers(CurrentStream current);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_DEVICE_LAYERS_H_
