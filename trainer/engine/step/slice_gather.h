#ifndef MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_
#define MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_

#include <deque>
#include <memory>
#include <string>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Makes flat tensors whole of which each rank of a group has its slice (trainer/parallel/slices.h).
// At most two are under way, so that their buffers stay small. Not thread-safe.
class SliceGather {
 public:
  explicit SliceGather(Communicator& group) : group_(group) {}

  // Starts to fill `flat`, of whole chunks, from this rank's slice, which may be a view of it;
  // waits for an earlier one if two are under way. `flat` is undefined until it is finished.
  absl::Status Start(const at::Tensor& flat, const at::Tensor& slice, const std::string& label);
  // Does the same from the slice within `flat`.
  absl::Status Start(const at::Tensor& flat, const std::string& label);
  absl::Status Finish();
  // Finishes as many as it takes to finish that of `flat`, if it is under way.
  absl::Status FinishOf(const at::Tensor& flat);

 private:
  struct Gather {
    at::Tensor flat;
    std::unique_ptr<Pending> pending;
  };

  absl::Status FinishOldest();

  Communicator& group_;
  std::deque<Gather> gathers_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_SLICE_GATHER_H_
