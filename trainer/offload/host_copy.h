#ifndef MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_
#define MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_

#include <cstddef>
#include <span>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"

namespace muster::trainer {

// Copies the elements of a contiguous tensor, wherever it is, to or from memory of the host that
// has as many bytes. The copy is complete when the call returns. Internal if the tensor's device
// fails.
absl::Status CopyToHost(const at::Tensor& from, std::span<std::byte> into);
absl::Status CopyFromHost(std::span<const std::byte> from, const at::Tensor& into);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_
