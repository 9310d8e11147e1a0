#ifndef MUSTER_TRAINER_COMM_GLOO_COMMUNICATOR_H_
#define MUSTER_TRAINER_COMM_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

struct GlooOptions {
  // The endpoint of a RoundStore, and its secret; unused if `size` is 1.
  std::string store;
  std::string secret = "";
  int rank = 0;
  int size = 1;
  // Names the group within the store, e.g. "<term>.<round>": ranks with another tag never meet.
  std::string tag;
  // This process's address, as the other ranks reach it.
  std::string host = "127.0.0.1";
  // Bounds every Wait(), and the time to connect.
  absl::Duration deadline = absl::Seconds(60);
  // Compares fingerprints among the ranks before each operation. Slow: it adds a message to each.
  bool check = false;
};

// Forms a communicator over TCP between CPU processes. Connect() waits for the other ranks;
// Abort(), from any thread, ends that wait within milliseconds, and a Connect() after it fails at
// once. Only one connector of a process may be in Connect() at a time (FailedPrecondition
// otherwise): the group's sockets are those that appear meanwhile.
//
// Connect fails with DeadlineExceeded, naming the ranks that did not come, Unavailable if the store
// or a peer is gone, and Aborted after Abort().
class GlooConnector {
 public:
  explicit GlooConnector(GlooOptions options);
  ~GlooConnector();
  GlooConnector(const GlooConnector&) = delete;
  GlooConnector& operator=(const GlooConnector&) = delete;

  absl::StatusOr<std::unique_ptr<Communicator>> Connect();
  void Abort(std::string_view why);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// Connects without a way to abort.
absl::StatusOr<std::unique_ptr<Communicator>> MakeGlooCommunicator(GlooOptions options);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_GLOO_COMMUNICATOR_H_
