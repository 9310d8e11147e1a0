#ifndef MUSTER_TRAINER_MODEL_LAYERS_ACTIVATION_H_
#define MUSTER_TRAINER_MODEL_LAYERS_ACTIVATION_H_

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Activations of feed-forward layers. On a device with kernels for them (trainer/kernels) each is
// one pass over memory and keeps nothing but its inputs.

// Returns GELU of x in its tanh form (Hendrycks and Gimpel, 2016), as GPT-2 and BLOOM use it.
at::Tensor Gelu(const at::Tensor& x);

// Returns gate * sigmoid(gate) * up (SwiGLU; Shazeer, 2020).
at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_ACTIVATION_H_
