#ifndef MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_
#define MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "trainer/checkpoint/manifest.h"

namespace muster::trainer {

// Where the elements of a slice are in their tensor, and in the part of it that a reader wants. A
// slice holds a run of its box's elements; the order of the box is the order of the tensor with
// gaps, so that any run of the tensor meets the slice in one run.

// The elements [begin, end) of a slice's box, or of a tensor.
struct ElementRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

// Equal runs of a tensor's elements at equal distances: of every `stride` elements those from
// `begin` on, `length` of them. The part of a tensor that a rank of the tensor axis holds is such
// stripes. They are numbered among themselves.
struct Stripes {
  uint64_t stride = 1;
  uint64_t begin = 0;
  uint64_t length = 1;

  // Returns the place in the tensor of an element of the stripes.
  uint64_t PlaceOf(uint64_t element) const {
    return element / length * stride + begin + element % length;
  }
};

// Returns the elements of the slice's box that the slice holds and that lie in the run `of_tensor`.
ElementRange RunInSlice(const TensorRecord& tensor, const TensorSlice& slice,
                        ElementRange of_tensor);

// Returns false if no element of the slice is in the stripes. May return true without one.
bool MayMeet(const TensorRecord& tensor, const TensorSlice& slice, const Stripes& wanted);

// Copies those elements `run` of the slice's box that are in the stripes from `from`, which holds
// `run` alone, to their places in `into`, which begins with the stripes' element `first`.
void CopyFromSlice(const TensorRecord& tensor, const TensorSlice& slice, ElementRange run,
                   const char* from, const Stripes& wanted, uint64_t first,
                   std::span<std::byte> into);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_SLICE_ELEMENTS_H_
