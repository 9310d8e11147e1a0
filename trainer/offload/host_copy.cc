#include "trainer/offload/host_copy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/from_blob.h"
#include "absl/strings/str_cat.h"
#include "c10/core/Event.h"
#include "c10/core/Stream.h"
#include "c10/core/StreamGuard.h"
#include "c10/core/impl/VirtualGuardImpl.h"
#include "c10/util/Exception.h"

namespace muster::trainer {
namespace {

// Returns a tensor over `bytes` that is like `tensor`. Only LibTorch's own copies know how to reach
// a device.
at::Tensor Like(const at::Tensor& tensor, const std::byte* bytes) {
  return at::from_blob(const_cast<std::byte*>(bytes), tensor.sizes(),
                       at::TensorOptions(tensor.scalar_type()));
}

absl::Status CheckSizes(const at::Tensor& tensor, size_t bytes) {
  if (tensor.nbytes() == bytes) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("a tensor of ", tensor.nbytes(), " bytes is copied to or from ", bytes));
}

// Reads a device through two pinned buffers: while the device fills one, the host empties the
// other, into memory that it need not pin, and has at the full rate of the bus.
class DeviceReader {
 public:
  explicit DeviceReader(const at::Tensor& from)
      : from_(from.view({-1})),
        bytes_(static_cast<int64_t>(from.element_size())),
        device_(from.device().type()),
        stream_(device_.getStreamFromGlobalPool(from.device())) {
    const int64_t elements = std::min(kBufferBytes / bytes_, from_.numel());
    for (Buffer& buffer : buffers_) {
      buffer.memory = at::empty(
          {elements},
          from_.options().device(c10::DeviceType::CPU).requires_grad(false).pinned_memory(true));
    }
    c10::Event now(from.device().type());
    now.record(device_.getStream(from.device()));
    now.block(stream_);
  }

  void ReadInto(std::byte* into) {
    Buffer* filling = buffers_.data();
    Buffer* full = buffers_.data() + 1;
    for (int64_t begin = 0; begin < from_.numel(); begin += filling->memory.numel()) {
      Fill(*filling, begin);
      into = Empty(*full, into);
      std::swap(filling, full);
    }
    Empty(*full, into);
  }

 private:
  static constexpr int64_t kBufferBytes = int64_t{16} << 20;

  struct Buffer {
    at::Tensor memory;
    int64_t elements = 0;  // that are in it, or on their way
    std::optional<c10::Event> filled;
  };

  void Fill(Buffer& buffer, int64_t begin) {
    buffer.elements = std::min(buffer.memory.numel(), from_.numel() - begin);
    const c10::StreamGuard guard(stream_);
    buffer.memory.narrow(0, 0, buffer.elements)
        .copy_(from_.narrow(0, begin, buffer.elements), /*non_blocking=*/true);
    if (!buffer.filled.has_value()) buffer.filled.emplace(stream_.device_type());
    buffer.filled->record(stream_);
  }

  std::byte* Empty(Buffer& buffer, std::byte* into) const {
    if (buffer.elements == 0) return into;
    buffer.filled->synchronize();
    const auto bytes = static_cast<size_t>(buffer.elements * bytes_);
    std::memcpy(into, buffer.memory.const_data_ptr(), bytes);
    return into + bytes;
  }

  const at::Tensor from_;  // flat
  const int64_t bytes_;    // of an element
  const c10::impl::VirtualGuardImpl device_;
  const c10::Stream stream_;
  std::array<Buffer, 2> buffers_;
};

}  // namespace

at::Tensor ToDevice(const at::Tensor& tensor, c10::Device device) {
  return device.is_cpu() ? tensor : tensor.pin_memory().to(device, /*non_blocking=*/true);
}

absl::Status CopyToHost(const at::Tensor& from, std::span<std::byte> into) {
  if (absl::Status sizes = CheckSizes(from, into.size()); !sizes.ok()) return sizes;
  if (into.empty()) return absl::OkStatus();
  if (from.is_cpu()) {
    std::memcpy(into.data(), from.const_data_ptr(), into.size());
    return absl::OkStatus();
  }
  try {
    DeviceReader(from).ReadInto(into.data());
    return absl::OkStatus();
  } catch (const c10::Error& e) {
    return absl::InternalError(absl::StrCat("copying from a device: ", e.what_without_backtrace()));
  }
}

absl::Status CopyFromHost(std::span<const std::byte> from, const at::Tensor& into) {
  if (absl::Status sizes = CheckSizes(into, from.size()); !sizes.ok()) return sizes;
  if (from.empty()) return absl::OkStatus();
  if (into.is_cpu()) {
    std::memcpy(into.mutable_data_ptr(), from.data(), from.size());
    return absl::OkStatus();
  }
  try {
    into.copy_(Like(into, from.data()));
    return absl::OkStatus();
  } catch (const c10::Error& e) {
    return absl::InternalError(absl::StrCat("copying to a device: ", e.what_without_backtrace()));
  }
}

}  // namespace muster::trainer
