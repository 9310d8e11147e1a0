#ifndef MUSTER_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
#define MUSTER_TRAINER_CUDA_NCCL_COMMUNICATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"
#include "trainer/cuda/device_queue.h"
#include "trainer/cuda/nccl_api.h"

namespace muster::trainer::cuda {

struct NcclOptions {
  NcclApi api;
  // The tensors of all operations are there.
  c10::Device device = c10::Device(c10::DeviceType::CUDA, 0);
  // Makes the stream of the communicator.
  std::function<absl::StatusOr<std::unique_ptr<DeviceQueue>>()> make_queue;
  // The endpoint of a RoundStore, and its secret.
  std::string store;
  std::string secret = "";
  int rank = 0;
  int size = 1;
  // Names the group within the store, e.g. "<term>.<round>": ranks with another tag never meet.
  std::string tag;
  // Bounds every Wait(), and the time to connect.
  absl::Duration deadline = absl::Seconds(60);
  // Compares fingerprints among the ranks, over the store. Slow: every operation asks the store.
  bool check = false;
};

// Forms a communicator over NCCL between processes with a GPU each. Connect() waits for the other
// ranks; Abort(), from any thread, ends that wait, and a Connect() after it fails at once.
//
// Connect fails with DeadlineExceeded, naming the ranks that did not come, Unavailable if the store
// or a peer is gone, Internal with NCCL's error, and Aborted after Abort().
//
// Collectives run on a stream of their own, in the order of their issue, each after the work that
// was on the trainer's stream when it was issued. Send and Recv are collected and start together at
// the next collective or Wait() of any operation: NCCL runs a communicator's operations one after
// the other, so that two ranks that first send and then receive would wait for each other for ever.
// NCCL notices a dead peer only where a connection breaks; a peer on the same machine that dies, or
// one that is silent, exceeds the deadline.
class NcclConnector {
 public:
  explicit NcclConnector(NcclOptions options);
  ~NcclConnector();
  NcclConnector(const NcclConnector&) = delete;
  NcclConnector& operator=(const NcclConnector&) = delete;

  absl::StatusOr<std::unique_ptr<Communicator>> Connect();
  void Abort(std::string_view why);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_NCCL_COMMUNICATOR_H_
