#ifndef MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_
#define MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// Where the elements of a slice are in their tensor. A slice holds a run of its box's elements; the
// order of the box is the order of the tensor with gaps, so that any run of the tensor meets the
// slice in one run.

// The elements [begin, end) of a slice's box, or of a tensor.
struct ElementRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

// Returns the elements of the slice's box that the slice holds and that lie in the run `of_tensor`.
ElementRange RunInSlice(const TensorRecord& tensor, const TensorSlice& slice,
                        ElementRange of_tensor);

// Copies the elements `run` of the slice's box from `from`, which holds nothing else, to their
// places in `into`, which begins with the tensor's element `first`.
void CopyFromBox(const TensorRecord& tensor, const TensorSlice& slice, ElementRange run,
                 const char* from, uint64_t first, std::span<std::byte> into);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_
