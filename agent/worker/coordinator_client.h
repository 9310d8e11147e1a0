#ifndef MUSTER_AGENT_WORKER_COORDINATOR_CLIENT_H_
#define MUSTER_AGENT_WORKER_COORDINATOR_CLIENT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/worker_event.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::agent {

// The control stream to the operator, dialled again whenever it is lost: after 50 ms, doubling to 1
// s while nobody answers. One stream at a time; nothing of an old one is delivered once it was
// reported closed. What is sent while there is no stream is dropped: the worker machine keeps what
// matters.
//
// Used by one thread, on which nothing here blocks; gRPC's own threads do the work behind it.
class CoordinatorClient {
 public:
  // gRPC targets, tried in turn: "unix:/path" or "host:port".
  explicit CoordinatorClient(std::vector<std::string> addresses);
  ~CoordinatorClient();

  // Readable when Collect has something to return.
  int poll_fd() const;
  // StreamOpened, StreamClosed and OperatorSaid, in order; dials when it is time to.
  std::vector<Event> Collect(absl::Time now);
  void Send(const v1alpha1::AgentMessage& message);
  // Leaves the stream; the next dial goes to `address` if it is not empty.
  void Redial(const std::string& address);
  // Ends the stream so that everything sent arrives; waits at most `timeout` for that.
  void HangUp(absl::Duration timeout);

 private:
  class Mailbox;
  class Stream;

  void Dial();

  const std::vector<std::string> addresses_;
  // Shared with the streams, whose last callbacks may come after this object is gone.
  std::shared_ptr<Mailbox> mailbox_;
  // Kept for good: gRPC's callback threads live as long as some channel that has used them.
  std::shared_ptr<void> first_channel_;
  // Also owned by itself until gRPC is done with it.
  std::shared_ptr<Stream> stream_;
  size_t next_address_ = 0;
  std::string preferred_;
  absl::Duration backoff_;
  absl::Time next_dial_ = absl::InfinitePast();
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_COORDINATOR_CLIENT_H_
