#ifndef MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_
#define MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_

#include <cstdint>

#include "ATen/core/Tensor.h"

namespace muster::trainer {

// Memory of a tensor that comes and goes, while views of it, also those that autograd keeps, stay
// views. A tensor without memory must not be read or written. Taken memory is kept for the next
// tensor of that size, because the system takes long to give a process new pages: there is as much
// of it as was in use at once. Thread-safe for different tensors.

inline bool HasMemory(const at::Tensor& flat) { return flat.storage().data() != nullptr; }

// Returns a flat tensor of so many elements that has no memory yet.
at::Tensor FlatWithoutMemory(int64_t elements, const at::TensorOptions& options);

// Gives a tensor memory with undefined contents if it has none.
void GiveMemory(const at::Tensor& flat);

// Returns a tensor of the memory that a tensor, or a view of it, has now. While it lives, that
// memory is neither freed nor given to another tensor, though it is taken from this one: an
// operation that was aborted may go on to write there. Returns `tensor` itself if its memory is not
// of GiveMemory(), because that is never taken.
at::Tensor LeaseMemory(const at::Tensor& tensor);

// Takes the memory of a tensor and of all its views. Leased memory is freed when its last lease
// ends.
void TakeMemory(const at::Tensor& flat);

// Frees what is kept for later.
void FreeKeptMemory();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_
