#ifndef MUSTER_TRAINER_OFFLOAD_STATE_REST_H_
#define MUSTER_TRAINER_OFFLOAD_STATE_REST_H_

#include <cstddef>
#include <span>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"

namespace muster::trainer {

// The flat tensors of a state by unit; each has a storage of its own, of which it is the whole.
using TensorsByUnit = std::vector<std::vector<at::Tensor>>;

// The place where tensors of a state rest while they are not in use. They are used in their own
// memory, wherever that is: in a place of its own they have that memory only from Bring() or
// MakeRoom() until Keep() or Drop(). What is kept becomes the contents of its unit with Swap(), for
// all units at once, and until then the contents of before are what Bring() and Read() find: so an
// update that breaks off can be discarded. In place, tensors always have memory, every write counts
// at once, and these calls do nothing. Not thread-safe.
class StateRest {
 public:
  virtual ~StateRest() = default;

  // Returns true if contents stay until Swap(): false for tensors that are written in place.
  virtual bool has_generations() const = 0;

  // Gives the unit's tensors memory with their contents, unless they have it.
  virtual absl::Status Bring(int unit) = 0;
  // Gives the unit's tensors memory with undefined contents.
  virtual void MakeRoom(int unit) = 0;
  // Ends the use of the unit's tensors: takes over what is in their memory. They have none after a
  // success.
  virtual absl::Status Keep(int unit) = 0;
  // Ends the use of the unit's tensors: their contents are as before.
  virtual void Drop(int unit) = 0;

  // Copies to or from a part of a tensor, a view of it, that has no memory, or has it on a device.
  // A unit some of whose parts are written must get all of them before Swap(), except elements that
  // are always zero.
  virtual absl::Status Read(const at::Tensor& part, std::span<std::byte> into) = 0;
  virtual absl::Status Write(const at::Tensor& part, std::span<const std::byte> from) = 0;

  // Makes what was kept or written the contents of its units.
  virtual void Swap() = 0;
  // Forgets what was kept or written since the last Swap(), and drops all units.
  virtual void Discard() = 0;
  // Returns the reads and writes that the disk has refused since the last call of ForgetRefusals().
  virtual int refusals() const = 0;
  virtual void ForgetRefusals() = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_STATE_REST_H_
