#ifndef MUSTER_TRAINER_ENGINE_LINK_TENSOR_BYTES_H_
#define MUSTER_TRAINER_ENGINE_LINK_TENSOR_BYTES_H_

#include <cstddef>
#include <span>

#include "ATen/core/Tensor.h"
#include "trainer/checkpoint/data_type.h"

// Tensors of the state as checkpoints and copies in memory hold them.
namespace muster::trainer {

// Return the type of elements; the state has these two only.
inline DataType DataTypeOf(c10::ScalarType type) {
  return type == at::kDouble ? DataType::kF64 : DataType::kF32;
}
inline DataType TypeOf(const at::Tensor& tensor) { return DataTypeOf(tensor.scalar_type()); }

// Returns the elements of a contiguous tensor on the host, which is read in place.
inline std::span<const std::byte> BytesOf(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_TENSOR_BYTES_H_
