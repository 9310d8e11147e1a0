#ifndef MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_
#define MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_

#include <deque>
#include <memory>
#include <string>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// All-gathers flat tensors from the slices that the ranks of a group hold
// (trainer/parallel/slices.h). At most two gathers are in progress, so that their buffers stay
// small. Not thread-safe.
class SliceGather {
 public:
  explicit SliceGather(Communicator& group) : group_(group) {}

  // Starts to fill `flat`, which consists of whole chunks, from the ranks' slices. `slice` is this
  // rank's own, and may be a view of `flat`. If two gathers are in progress, waits for the older
  // one first. `flat` is undefined until its gather has finished.
  absl::Status Start(const at::Tensor& flat, const at::Tensor& slice, const std::string& label);
  // Does the same with the slice that lies in `flat`.
  absl::Status Start(const at::Tensor& flat, const std::string& label);
  // Does the same, but rounds all numbers to BF16 on the way, this rank's own as well.
  absl::Status StartInBf16(const at::Tensor& flat, const at::Tensor& slice,
                           const std::string& label);
  absl::Status Finish();
  // Finishes the gather of `flat`, if it is in progress, and those that began before it.
  absl::Status FinishOf(const at::Tensor& flat);

 private:
  struct Gather {
    at::Tensor flat;
    at::Tensor sent;  // the numbers arrive in it; may be `flat` itself
    std::unique_ptr<Pending> pending;
  };

  // Starts to fill `sent`; when it is full, it is copied to `flat` if that is another tensor.
  absl::Status StartAs(const at::Tensor& sent, const at::Tensor& flat, const at::Tensor& slice,
                       const std::string& label);
  absl::Status FinishOldest();

  Communicator& group_;
  std::deque<Gather> gathers_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_
