#ifndef MUSTER_TRAINER_DATA_BATCH_FEED_H_
#define MUSTER_TRAINER_DATA_BATCH_FEED_H_

#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/data/sample_order.h"

namespace muster::trainer {

// The samples of one logical micro-batch, as tensors.
struct MicroBatch {
  at::Tensor tokens;             // int64 [sequences, sequence length]
  at::Tensor labels;             // same shape; kIgnoredLabel where there is no valid token
  std::vector<int64_t> samples;  // global sample index of each sequence
};

// The seam between the engine and the data. The samples of a micro-batch depend on its place in the
// run alone, never on rank or world size. Called from the engine's thread.
class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  virtual absl::StatusOr<MicroBatch> Training(const MicroBatchPosition& place) = 0;
  // Returns the same micro-batches at every validation; `index` counts from 0.
  virtual absl::StatusOr<MicroBatch> Validation(int64_t index) = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_BATCH_FEED_H_
