#ifndef MUSTER_TRAINER_DATA_TENSOR_FEED_H_
#define MUSTER_TRAINER_DATA_TENSOR_FEED_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "trainer/data/batch_feed.h"
#include "trainer/data/batch_source.h"

namespace muster::trainer {

// Hands a BatchSource's batches to the engine as tensors. Does not own the source.
class TensorFeed final : public BatchFeed {
 public:
  explicit TensorFeed(BatchSource& source) : source_(source) {}
  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition& place) override;
  absl::StatusOr<MicroBatch> Validation(int64_t index) override;

 private:
  BatchSource& source_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DATA_TENSOR_FEED_H_
