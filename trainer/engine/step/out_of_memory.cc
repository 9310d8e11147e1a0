#include "trainer/engine/step/out_of_memory.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/byte_text.h"
#include "trainer/engine/step/device_memory.h"

namespace muster::trainer {
namespace {

// Says what is in the memory besides the state of training.
std::string Rest(const DeviceMemory& memory) {
  if (!memory.allocator.has_value()) return ", the rest is activations";
  const DeviceMemory::Allocator& allocator = *memory.allocator;
  return absl::StrCat(
      ", and ", ByteText(allocator.others), " of activations and other tensors; ",
      ByteText(allocator.unused),
      " more are in pieces that no tensor has, and the most that tensors had at one "
      "time was ",
      ByteText(allocator.most));
}

std::string Advice(const TrainingOptions& options, const Shard& shard) {
  std::string advice = "needs less: ";
  if (options.micro_batch > 1) {
    absl::StrAppend(&advice, "train.microBatch ", options.micro_batch / 2, " in place of ",
                    options.micro_batch, ", ");
  }
  absl::StrAppend(&advice, "a shorter train.sequence");
  if (options.types.compute == options.types.parameters) {
    absl::StrAppend(&advice, ", train.precision bf16");
  }
  if (shard.whole() || !options.divided.values) {
    absl::StrAppend(&advice, ", trainer.parallelism.zero 3 with more ranks");
  }
  return advice;
}

}  // namespace

absl::Status ExplainNoMemory(const absl::Status& status, const TrainingState& state) {
  if (!absl::IsResourceExhausted(status)) return status;
  const DeviceMemory memory = ReadDeviceMemory(state);
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), "; this rank holds ", ByteText(memory.weights), " of weights, ",
      ByteText(memory.gradients), " of gradients and ", ByteText(memory.optimizer),
      " of optimizer state", Rest(memory), "; ", Advice(state.options(), state.shard())));
}

}  // namespace muster::trainer
