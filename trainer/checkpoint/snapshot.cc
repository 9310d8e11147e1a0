#include "trainer/checkpoint/snapshot.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/safetensors.h"

namespace muster::trainer {
namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

const char* Name(TensorGroup group) { return group == TensorGroup::kModel ? "model" : "optimizer"; }

absl::Status CheckSnapshot(const Snapshot& snapshot) {
  if (snapshot.run.writers < 1 || snapshot.writer < 0 || snapshot.writer >= snapshot.run.writers) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint: writer ", snapshot.writer,
                                                   " is not one of the ", snapshot.run.writers,
                                                   " writers"));
  }
  for (const SnapshotTensor& tensor : snapshot.tensors) {
    const std::optional<uint64_t> whole =
        ElementCount(tensor.box.whole() ? tensor.shape : tensor.box.lengths);
    const uint64_t count = tensor.count == 0 ? whole.value_or(0) : tensor.count;
    if (!whole.has_value() || tensor.begin > *whole || count > *whole - tensor.begin ||
        tensor.size() != count * ElementBytes(tensor.type)) {
      return absl::InvalidArgumentError(absl::StrCat("checkpoint: ", tensor.name, ": has ",
                                                     tensor.size(),
                                                     " bytes, which is not the size of its part"));
    }
  }
  return absl::OkStatus();
}

size_t CopyBytes(std::span<const SnapshotTensor> tensors) {
  size_t total = 0;
  for (const SnapshotTensor& tensor : tensors) total += Aligned(tensor.size());
  return total;
}

absl::Status CopyTensors(std::span<SnapshotTensor> tensors, std::byte* memory, SharedCopy& copy) {
  for (SnapshotTensor& tensor : tensors) {
    const size_t size = tensor.size();
    if (tensor.read != nullptr) {
      MUSTER_RETURN_IF_ERROR(tensor.read({memory, size}));
      tensor.read = nullptr;
    } else {
      copy.Add(tensor.bytes, memory);
    }
    tensor.bytes = {memory, size};
    memory += Aligned(size);
  }
  return absl::OkStatus();
}

std::vector<int> AssignWriters(std::span<const uint64_t> tensor_bytes, int writers) {
  std::vector<size_t> order(tensor_bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensor_bytes[a] > tensor_bytes[b]; });
  std::vector<uint64_t> load(static_cast<size_t>(writers), 0);
  std::vector<int> owner(tensor_bytes.size(), 0);
  for (const size_t i : order) {
    const auto least = std::min_element(load.begin(), load.end());
    owner[i] = static_cast<int>(least - load.begin());
    *least += tensor_bytes[i];
  }
  return owner;
}

}  // namespace muster::trainer
