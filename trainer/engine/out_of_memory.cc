#include "trainer/engine/out_of_memory.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/byte_text.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

int64_t BytesOf(const at::Tensor& tensor) {
  return HasMemory(tensor) ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

// Returns the bytes of a unit's tensor as a whole, and of the slice if that has memory of its own.
int64_t BytesOf(const at::Tensor& whole, const at::Tensor& slice) {
  return BytesOf(whole) + (slice.is_alias_of(whole) ? 0 : BytesOf(slice));
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
  int64_t values = 0, gradients = 0, optimizer = 0;
  for (size_t u = 0; u < state.units().size(); ++u) {
    const Unit& unit = state.units()[u];
    values += BytesOf(unit.values(), unit.held().values);
    gradients += BytesOf(unit.gradients(), unit.held().gradients);
    for (const at::Tensor& tensor : state.optimizer().state(static_cast<int>(u))) {
      optimizer += BytesOf(tensor);
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      status.message(), "; this rank holds ", ByteText(values), " of weights, ",
      ByteText(gradients), " of gradients and ", ByteText(optimizer),
      " of optimizer state, the rest is activations; ", Advice(state.options(), state.shard())));
}

}  // namespace muster::trainer
