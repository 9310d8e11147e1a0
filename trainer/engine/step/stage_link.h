#ifndef MUSTER_TRAINER_ENGINE_STEP_STAGE_LINK_H_
#define MUSTER_TRAINER_ENGINE_STEP_STAGE_LINK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"
#include "trainer/engine/link/round_groups.h"

namespace muster::trainer {

// Carries what blocks pass on between two stages of a pipeline: outputs to the next stage, and
// their gradients back. The first outputs of a block in a round go with a header that says their
// types and shapes, which those of later micro-batches must have too. Lives as long as a round. Not
// thread-safe.
class StageLink {
 public:
  // `stages` are the ranks of the pipeline, by stage; outputs are received on `device`. Messages go
  // over `channels` where there are some.
  StageLink(Communicator& stages, c10::Device device, StageChannels channels = {})
      : stages_(stages), device_(device), channels_(std::move(channels)) {}

  // Sends return before the tensors have arrived, and keep them until then. InvalidArgument if the
  // outputs cannot be described, or are unlike those of an earlier micro-batch.
  absl::Status SendOutputs(int block, int stage, const std::vector<at::Tensor>& outputs);
  // Internal if what arrives describes no tensors.
  absl::StatusOr<std::vector<at::Tensor>> ReceiveOutputs(int block, int stage);
  // Sends zeros for undefined gradients. `outputs` are those that the gradients are of; the ones
  // that are no floating point numbers have none.
  absl::Status SendGradients(int block, int stage, const std::vector<at::Tensor>& outputs,
                             const std::vector<at::Tensor>& gradients);
  absl::StatusOr<std::vector<at::Tensor>> ReceiveGradients(int block, int stage,
                                                           const std::vector<at::Tensor>& outputs);
  // Returns when everything that was sent has arrived.
  absl::Status Finish();

 private:
  struct Sending {
    at::Tensor tensor;
    std::unique_ptr<Pending> pending;
  };

  // Makes room for the messages of another pass, which Send() then adds.
  absl::Status BeginPass();
  absl::Status AwaitOldest();
  void Send(const at::Tensor& tensor, int stage, const std::string& label);
  absl::Status Receive(const at::Tensor& tensor, int stage, const std::string& label);

  Communicator& stages_;
  const c10::Device device_;
  const StageChannels channels_;
  std::map<int, std::vector<int64_t>> headers_;  // of outputs that were sent or received, by block
  std::deque<std::vector<Sending>> sendings_;    // by pass
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STEP_STAGE_LINK_H_
