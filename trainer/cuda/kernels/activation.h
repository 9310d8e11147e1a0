#ifndef MUSTER_TRAINER_CUDA_KERNELS_ACTIVATION_H_
#define MUSTER_TRAINER_CUDA_KERNELS_ACTIVATION_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// Activations of feed-forward layers over `count` elements of one type, and their gradients from
// the inputs, so that only those are kept. Outputs may be the inputs of the same call.

// SwiGLU (Shazeer, 2020): y = gate * sigmoid(gate) * up.
LaunchResult LaunchSwiGlu(Element element, int64_t count, const void* gate, const void* up, void* y,
                          Stream stream);
LaunchResult LaunchSwiGluBackward(Element element, int64_t count, const void* gate, const void* up,
                                  const void* d_y, void* d_gate, void* d_up, Stream stream);

// GELU (Hendrycks and Gimpel, 2016) in its tanh form, as GPT-2 and BLOOM use it.
LaunchResult LaunchGelu(Element element, int64_t count, const void* x, void* y, Stream stream);
LaunchResult LaunchGeluBackward(Element element, int64_t count, const void* x, const void* d_y,
                                void* d_x, Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_ACTIVATION_H_
