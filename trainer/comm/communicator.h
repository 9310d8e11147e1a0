#ifndef MUSTER_TRAINER_COMM_COMMUNICATOR_H_
#define MUSTER_TRAINER_COMM_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"

namespace muster::trainer {

enum class ReduceOp { kSum, kMax, kMin };

// A collective under way. Destroying it without Wait() is allowed only after Abort().
class Pending {
 public:
  virtual ~Pending() = default;
  // Returns when the data is in place on this rank, by the communicator's deadline at the latest.
  // DeadlineExceeded for a silent peer, Unavailable for a dead one, Aborted after Abort(), Internal
  // if the check mode found ranks at different operations. After an error the tensors' contents are
  // lost and every later operation of this communicator fails the same way.
  virtual absl::Status Wait() = 0;
};

// Collectives among the ranks of one group of one round: the seam to NCCL on GPUs and Gloo on CPUs.
//
// All ranks issue the same operations in the same order. Operations of one communicator complete in
// that order; several may be in flight. Tensors are contiguous and must stay alive and untouched
// until Wait(). `label` names the data (a unit, "vote", ...) in the flight record. One thread
// issues operations; Abort() and DumpFlightRecord() may be called from any thread at any time.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                             std::string_view label) = 0;
  // `input` holds size() equal slices; `output` gets this rank's slice, reduced.
  virtual std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                                 std::string_view label) = 0;
  virtual std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                             std::string_view label) = 0;
  // input_counts[r] elements go to rank r, output_counts[r] come from it; tensors are flat.
  virtual std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                             at::Tensor input, std::vector<int64_t> input_counts,
                                             std::string_view label) = 0;
  virtual std::unique_ptr<Pending> Broadcast(at::Tensor tensor, int root,
                                             std::string_view label) = 0;
  virtual std::unique_ptr<Pending> Send(at::Tensor tensor, int to, std::string_view label) = 0;
  virtual std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) = 0;
  virtual std::unique_ptr<Pending> Barrier() = 0;

  // Returns true if an operation begins only when all that were issued before have ended. Then a
  // message that its receiver does not take yet holds up every later one of this communicator.
  virtual bool is_a_queue() const { return false; }
  // Starts the messages issued so far. Without it they may start only when this rank waits for one
  // of them, together with the others.
  virtual void StartMessages() {}

  // Makes every operation in flight, and every later one, fail with Aborted. Idempotent.
  virtual void Abort(std::string_view why) = 0;

  // Lists the last operations with sequence number, fingerprint and state, oldest first, for people
  // to read.
  virtual std::string DumpFlightRecord() const = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_COMMUNICATOR_H_
