#ifndef MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_
#define MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_

#include <cstddef>
#include <span>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "c10/core/Device.h"

namespace muster::trainer {

// Copies the elements of a contiguous tensor, wherever it is, to or from memory of the host that
// has as many bytes. The copy is complete when the call returns. Internal if the tensor's device
// fails. A device is read through pinned memory by a stream of its own, which waits for the work
// that the current stream has by now.
absl::Status CopyToHost(const at::Tensor& from, std::span<std::byte> into);
absl::Status CopyFromHost(std::span<const std::byte> from, const at::Tensor& into);

// Returns a copy on `device` of a tensor of the host, or the tensor itself for the CPU. It goes
// through pinned memory: from any other the host would first wait for all work that the current
// stream has by now. Errors are exceptions of LibTorch.
at::Tensor ToDevice(const at::Tensor& tensor, c10::Device device);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_HOST_COPY_H_
