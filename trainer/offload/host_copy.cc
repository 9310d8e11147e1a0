#include "trainer/offload/host_copy.h"

#include <cstring>

#include "ATen/ops/from_blob.h"
#include "absl/strings/str_cat.h"
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

}  // namespace

absl::Status CopyToHost(const at::Tensor& from, std::span<std::byte> into) {
  if (absl::Status sizes = CheckSizes(from, into.size()); !sizes.ok()) return sizes;
  if (into.empty()) return absl::OkStatus();
  if (from.is_cpu()) {
    std::memcpy(into.data(), from.const_data_ptr(), into.size());
    return absl::OkStatus();
  }
  try {
    Like(from, into.data()).copy_(from);
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
