#ifndef MUSTER_TRAINER_ENGINE_SLICE_GATHER_H_
#define MUSTER_TRAINER_ENGINE_SLICE_GATHER_H_

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

  // Starts to fill `flat`, of whole chunks; waits for an earlier one if two are under way. The
  // other slices of `flat` are undefined until Finish().
  absl::Status Start(const at::Tensor& flat, const std::string& label);
  absl::Status Finish();

 private:
  struct Gather {
    at::Tensor flat, output;
    std::unique_ptr<Pending> pending;
  };

  absl::Status FinishOldest();

  Communicator& group_;
  std::deque<Gather> gathers_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_SLICE_GATHER_H_
