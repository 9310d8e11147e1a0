#include "trainer/data/tensor_feed.h"

#include <cstring>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/empty.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

at::Tensor ToTensor(const std::vector<int64_t>& values, int64_t rows, int64_t length) {
  at::Tensor tensor = at::empty({rows, length}, at::kLong);
  std::memcpy(tensor.mutable_data_ptr<int64_t>(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

MicroBatch ToMicroBatch(TokenBatch batch) {
  return {.tokens = ToTensor(batch.tokens, batch.sequences, batch.length),
          .labels = ToTensor(batch.labels, batch.sequences, batch.length),
          .samples = std::move(batch.samples)};
}

}  // namespace

absl::StatusOr<MicroBatch> TensorFeed::Training(const MicroBatchPosition& place) {
  MUSTER_ASSIGN_OR_RETURN(TokenBatch batch, source_.Training(place));
  return ToMicroBatch(std::move(batch));
}

absl::StatusOr<MicroBatch> TensorFeed::Validation(int64_t index) {
  MUSTER_ASSIGN_OR_RETURN(TokenBatch batch, source_.Validation(index));
  if (batch.sequences == 0) return absl::NotFoundError("no data is kept for validation");
  return ToMicroBatch(std::move(batch));
}

}  // namespace muster::trainer
