#ifndef MUSTER_TRAINER_CHECKPOINT_SNAPSHOT_H_
#define MUSTER_TRAINER_CHECKPOINT_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/shared_copy.h"

namespace muster::trainer {

enum class TensorGroup { kModel, kOptimizer };

// A tensor, or the part of it that this writer saves. Its memory is read until the writer's
// FinishCopy() has returned; `read` is called during Begin only.
struct SnapshotTensor {
  std::string name;
  TensorGroup group = TensorGroup::kModel;
  DataType type = DataType::kF32;
  std::vector<int64_t> shape;  // of the whole tensor
  // The elements in memory, or, if they are elsewhere, the way to copy them from there and the
  // number of their bytes.
  std::span<const std::byte> bytes;
  std::function<absl::Status(std::span<std::byte> into)> read = nullptr;
  size_t read_bytes = 0;
  // The elements of the box that are saved; count 0: all of them.
  TensorBox box = {};
  uint64_t begin = 0;
  uint64_t count = 0;

  size_t size() const { return read == nullptr ? bytes.size() : read_bytes; }
};

struct Snapshot {
  RunRecord run;   // the same on every writer of a round; writers is their number
  int writer = 0;  // 0 .. run.writers-1; 0 completes the checkpoint
  std::vector<SnapshotTensor> tensors;
  uint64_t largest_share = 0;  // the bytes of the writer that has the most, as far as it is known
  // Written by writer 0 beside the tensors, e.g. {"tokenizer.json", text}. config.json is
  // run.model.
  std::map<std::string, std::string> documents;
};

// Returns "model" or "optimizer", as in file names.
const char* Name(TensorGroup group);

// Returns InvalidArgument if the writer is not one of the writers, or if a tensor's bytes do not
// have the size of its part.
absl::Status CheckSnapshot(const Snapshot& snapshot);

// Returns the bytes that a copy of the tensors takes.
size_t CopyBytes(std::span<const SnapshotTensor> tensors);
// Places the tensors in `memory`, of CopyBytes(), one after the other, and points them there. What
// is in memory is added to `copy` and is there once that is finished; the rest is read now. Fails
// as the reading of a tensor does.
absl::Status CopyTensors(std::span<SnapshotTensor> tensors, std::byte* memory, SharedCopy& copy);

// Returns, for each tensor, the one of `writers` that saves it whole: balanced by bytes, the same
// on every rank.
std::vector<int> AssignWriters(std::span<const uint64_t> tensor_bytes, int writers);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_SNAPSHOT_H_
