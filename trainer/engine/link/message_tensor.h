#ifndef MUSTER_TRAINER_ENGINE_LINK_MESSAGE_TENSOR_H_
#define MUSTER_TRAINER_ENGINE_LINK_MESSAGE_TENSOR_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/empty.h"
#include "c10/core/ScalarType.h"

namespace muster::trainer {

// Numbers that ranks exchange, as the tensors that communicators take.

template <typename T>
at::Tensor ToTensor(const std::vector<T>& numbers) {
  at::Tensor tensor =
      at::empty({static_cast<int64_t>(numbers.size())}, c10::CppTypeToScalarType<T>::value);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<T>());
  return tensor;
}

inline std::span<const double> AsSpan(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<double>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_MESSAGE_TENSOR_H_
