#ifndef MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_
#define MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_

#include "ATen/core/Tensor.h"
#include "c10/core/Allocator.h"

namespace muster::trainer {

// Memory of a tensor that comes and goes, while views of it, also those that autograd keeps, stay
// views. A tensor without memory must not be read or written.

inline bool HasMemory(const at::Tensor& flat) { return flat.storage().data() != nullptr; }

// Gives a tensor memory with undefined contents if it has none.
inline void GiveMemory(const at::Tensor& flat) {
  if (HasMemory(flat)) return;
  const c10::Storage& storage = flat.storage();
  storage.set_data_ptr_noswap(storage.allocator()->allocate(storage.nbytes()));
}

// Frees the memory of a tensor and of all its views.
inline void TakeMemory(const at::Tensor& flat) {
  flat.storage().set_data_ptr_noswap(c10::DataPtr(nullptr, flat.device()));
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_FLAT_MEMORY_H_
