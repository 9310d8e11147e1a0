#ifndef MUSTER_TRAINER_CUDA_NCCL_CHECK_H_
#define MUSTER_TRAINER_CUDA_NCCL_CHECK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "trainer/comm/operation.h"
#include "trainer/comm/store_client.h"

namespace muster::trainer::cuda {

// Compares the operations of a group's ranks by their fingerprints, over the store: NCCL itself
// would mix up the data of different operations, or wait for ever. Used by one thread, but for
// Abort().
class OperationCheck {
 public:
  OperationCheck(std::shared_ptr<StoreClient> store, std::string tag, int rank, int size,
                 absl::Duration deadline)
      : store_(std::move(store)),
        tag_(std::move(tag)),
        rank_(rank),
        size_(size),
        deadline_(deadline) {}

  // Ends the wait under way and all later ones.
  void Abort() { store_->Abort(); }

  // Waits for the other ranks' fingerprints of this collective. Internal if one differs.
  absl::Status Collective(int64_t sequence, const Fingerprint& fingerprint);
  // Tells the receiver what is sent.
  absl::Status Sent(const Fingerprint& fingerprint);
  // Numbers a message that this rank will receive, for Received().
  int64_t NumberOf(const Fingerprint& fingerprint);
  // Waits for what the sender said about message `number`. Internal if it differs.
  absl::Status Received(int64_t sequence, const Fingerprint& fingerprint, int64_t number);

 private:
  std::string MessageKey(int from, int to, int64_t number) const;

  const std::shared_ptr<StoreClient> store_;
  const std::string tag_;
  const int rank_;
  const int size_;
  const absl::Duration deadline_;
  int64_t collectives_ = 0;
  std::map<std::pair<int, int>, int64_t> messages_;
};

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_NCCL_CHECK_H_
