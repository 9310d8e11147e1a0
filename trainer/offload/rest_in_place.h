#ifndef MUSTER_TRAINER_OFFLOAD_REST_IN_PLACE_H_
#define MUSTER_TRAINER_OFFLOAD_REST_IN_PLACE_H_

#include "trainer/offload/host_copy.h"
#include "trainer/offload/state_rest.h"

namespace muster::trainer {

// Tensors that rest where they are used, in memory.
class RestInPlace final : public StateRest {
 public:
  bool has_generations() const override { return false; }
  absl::Status Bring(int) override { return absl::OkStatus(); }
  void MakeRoom(int) override {}
  absl::Status Keep(int) override { return absl::OkStatus(); }
  void Drop(int) override {}
  absl::Status Read(const at::Tensor& part, std::span<std::byte> into) override {
    return CopyToHost(part, into);
  }
  absl::Status Write(const at::Tensor& part, std::span<const std::byte> from) override {
    return CopyFromHost(from, part);
  }
  void Swap() override {}
  void Discard() override {}
  int refusals() const override { return 0; }
  void ForgetRefusals() override {}
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_REST_IN_PLACE_H_
