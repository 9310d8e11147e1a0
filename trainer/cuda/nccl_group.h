#ifndef MUSTER_TRAINER_CUDA_NCCL_GROUP_H_
#define MUSTER_TRAINER_CUDA_NCCL_GROUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "trainer/comm/flight_record.h"
#include "trainer/comm/operation.h"
#include "trainer/comm/operation_tracker.h"
#include "trainer/cuda/device_queue.h"
#include "trainer/cuda/nccl_api.h"

namespace muster::trainer::cuda {

// A status for a result of NCCL that is neither success nor in progress: Unavailable if a peer is
// gone, Internal for everything else.
absl::Status NcclStatus(const NcclApi& api, ncclResult_t result, std::string_view call);

// NCCL's handle of a group, used so that no thread is ever stuck in NCCL: it is not blocking, and
// what it has not done yet is asked for again and again. Fail() may be called from any thread, the
// rest by one.
class NcclGroup {
 public:
  NcclGroup(NcclApi api, std::unique_ptr<DeviceQueue> queue, absl::Duration deadline)
      : api_(api), queue_(std::move(queue)), deadline_(deadline) {}
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Meets the other ranks; returns by `until`.
  absl::Status Init(int size, const ncclUniqueId& id, int rank, absl::Time until)
      MUSTER_EXCLUDES(mu_);

  const NcclApi& api() const { return api_; }
  FlightRecord& record() { return record_; }
  const FlightRecord& record() const { return record_; }

  using Call = std::function<ncclResult_t(ncclComm_t, cudaStream_t)>;
  // Enqueues a call behind the trainer's work so far, and returns the mark behind it.
  absl::StatusOr<std::shared_ptr<QueueMark>> Enqueue(const Call& call) MUSTER_EXCLUDES(mu_);

  // Waits until the device has passed the mark, the group fails, or the deadline is over. Does not
  // fail the group.
  absl::Status Await(QueueMark& mark) MUSTER_EXCLUDES(mu_);

  // Ends what is in flight. The first failure stands and is returned.
  absl::Status Fail(const absl::Status& status) MUSTER_EXCLUDES(mu_);
  absl::Status failure() const { return tracker_.failure(); }

  // Keeps the tensors of an operation that did not end for as long as the device may use them: the
  // end of the group waits for the device, and leaves to later what does not end in time.
  void Abandon(std::vector<at::Tensor> tensors);
  // Frees the tensors of earlier groups that the device uses no more. Unavailable if it still uses
  // some: what it writes next would be lost, or overwrite what is there by then.
  static absl::Status CheckEarlierGroups();

 private:
  void EndHandle() MUSTER_EXCLUDES(mu_);
  // Frees the abandoned tensors once the device has passed all that was enqueued.
  void FreeAbandoned() MUSTER_EXCLUDES(mu_);
  // Waits until NCCL has done what it was asked, by `until`.
  absl::Status Settle(absl::Time until) MUSTER_EXCLUDES(mu_);
  // Success, in progress, or what has gone wrong since.
  ncclResult_t AsyncError() MUSTER_EXCLUDES(mu_);
  // Gives the device time to go on; Fail() ends it at once. `turn` counts the pauses of one wait.
  void Pause(int turn) MUSTER_EXCLUDES(mu_);

  const NcclApi api_;
  std::unique_ptr<DeviceQueue> queue_;
  const absl::Duration deadline_;
  FlightRecord record_;
  OperationTracker tracker_;
  std::vector<at::Tensor> abandoned_;
  Mutex mu_;  // held for calls that use the handle; none of them blocks
  CondVar failed_;
  ncclComm_t comm_ MUSTER_GUARDED_BY(mu_) = nullptr;
};

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_NCCL_GROUP_H_
