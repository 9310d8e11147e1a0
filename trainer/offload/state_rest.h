#ifndef MUSTER_TRAINER_OFFLOAD_STATE_REST_H_
#define MUSTER_TRAINER_OFFLOAD_STATE_REST_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/offload/host_copy.h"

namespace muster::trainer {

// The flat tensors of a state, by unit. Each tensor is the whole of its own storage.
using TensorsByUnit = std::vector<std::vector<at::Tensor>>;

// Keeps the tensors of a state while they are not in use, in place or offloaded. An offloaded
// tensor has memory only from Bring() or MakeRoom() until Keep() or Drop(). Contents that are kept
// take effect with Swap(), for all units at once; until then Bring() and Read() find the previous
// contents, so that an update that breaks off can be discarded. In place, tensors always have
// memory, every write takes effect at once, and Bring() to Drop(), Swap() and Discard() do nothing.
// Not thread-safe.
class StateRest {
 public:
  virtual ~StateRest() = default;

  // Returns true if the previous contents stay until Swap(); false if tensors are written in place.
  virtual bool has_generations() const = 0;

  // Gives the unit's tensors memory with their contents, unless they have it.
  virtual absl::Status Bring(int unit) = 0;
  // Gives the unit's tensors memory with undefined contents.
  virtual void MakeRoom(int unit) = 0;
  // Ends the use of the unit's tensors and stores their contents. If that succeeds, offloaded
  // tensors lose their memory.
  virtual absl::Status Keep(int unit) = 0;
  // Ends the use of the unit's tensors without storing their contents.
  virtual void Drop(int unit) = 0;

  // Copies to or from a part of a tensor, given as a view of it. The tensor may have no memory, or
  // have it on a device. If some parts of a unit are written, all of them must be written before
  // Swap(), except elements that are always zero.
  virtual absl::Status Read(const at::Tensor& part, std::span<std::byte> into) = 0;
  virtual absl::Status Write(const at::Tensor& part, std::span<const std::byte> from) = 0;

  // Puts into effect what was kept or written since the last Swap().
  virtual void Swap() = 0;
  // Forgets what was kept or written since the last Swap(), and drops all units.
  virtual void Discard() = 0;
  // Returns the number of reads and writes that the disk has failed since the last call of
  // ForgetRefusals().
  virtual int refusals() const = 0;
  virtual void ForgetRefusals() = 0;
};

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

#endif  // MUSTER_TRAINER_OFFLOAD_STATE_REST_H_
