#ifndef MUSTER_TRAINER_CUDA_KERNELS_CROSS_ENTROPY_H_
#define MUSTER_TRAINER_CUDA_KERNELS_CROSS_ENTROPY_H_

#include <cstdint>

#include "trainer/cuda/kernels/launch_result.h"

namespace muster::trainer::cuda {

// The loss of a chunk of rows of logits and its gradient, which takes the logits' place, so that no
// more than a chunk of logits ever exists. In a row with label l the loss is log(sum of
// exp(logits))
// - logits[l], and the gradient is `gradient_scale` times (softmax(logits) - onehot(l)). A row with
// the ignored label has neither; a label that is no column gives the loss NaN and no gradient.
struct CrossEntropy {
  int64_t rows = 0;
  int64_t vocabulary = 0;
  Element element = Element::kFloat;
  void* logits = nullptr;  // [rows, vocabulary], replaced by the gradient
  const int64_t* labels = nullptr;
  int64_t ignored = -100;
  float gradient_scale = 1.0f;
  float* losses = nullptr;  // [rows]
};
LaunchResult LaunchCrossEntropy(const CrossEntropy& chunk, Stream stream);

// Writes how many of `count` labels are not the ignored one.
LaunchResult LaunchCountValid(const int64_t* labels, int64_t count, int64_t ignored, int64_t* valid,
                              Stream stream);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_CROSS_ENTROPY_H_
