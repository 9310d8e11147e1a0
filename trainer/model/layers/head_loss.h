#ifndef MUSTER_TRAINER_MODEL_LAYERS_HEAD_LOSS_H_
#define MUSTER_TRAINER_MODEL_LAYERS_HEAD_LOSS_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/ScalarType.h"
#include "c10/util/intrusive_ptr.h"
#include "trainer/comm/communicator.h"
#include "trainer/model/weight_casts.h"

namespace muster::trainer {

// The rows of the head's weight that this rank has, [first, first + weight.size(0)) of
// `vocabulary`, and the ranks that have the others. A null group: this rank has all.
struct VocabularyPart {
  Communicator* group = nullptr;
  int64_t first = 0;
  int64_t vocabulary = 0;
};

// Returns the cross-entropy of the logits, x [rows, width] times the transpose of weight
// [vocabulary, width], summed over the rows whose label is not kIgnoredLabel: a scalar in FP64 if
// `type` is that, else in FP32. `labels` are int64 [rows]. Products are computed in `type`, and the
// softmax in the loss's type.
//
// Neither the logits of all rows nor their gradient are ever in memory, unless all are one chunk
// (planner/logits_rows.h): the forward pass computes the gradients of x and of the weight along
// with each chunk's logits, and keeps these until the backward pass scales them. Cf. Hsu et al.,
// 2024, "Liger Kernel: efficient Triton kernels for LLM training", section 3.2. Without gradient
// mode only the loss is computed. A weight of another type is cast through `casts`. Throws
// c10::IndexError for a label outside the vocabulary; on a device, for which the host does not
// wait, such a label is an error of the device (data are checked where they are read).
//
// Where ranks divide the vocabulary, each has all of x and its rows of the weight. They exchange
// three numbers a row: the largest logit, the sum of exponentials and the label's logit. Every rank
// gets the loss; the gradient of x is its share of a sum over the ranks.
at::Tensor HeadLoss(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& labels,
                    at::ScalarType type, const c10::intrusive_ptr<WeightCasts>& casts = {},
                    const VocabularyPart& part = {});

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_HEAD_LOSS_H_
