#ifndef MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CLIENT_H_
#define MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/worker_event.h"
#include "agent/worker/stream/agent_identity.h"
#include "agent/worker/stream/coordinator_mailbox.h"
#include "agent/worker/stream/coordinator_stream.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::agent {

struct CoordinatorClientOptions {
  // gRPC targets, tried in turn: "unix:/path" or "host:port". With `identity` all are host:port.
  std::vector<std::string> addresses;
  IdentitySources identity;
  // A coordinator that is silent for this long is given up; the default is half a lease.
  absl::Duration silence = absl::Milliseconds(7500);
};

// The control stream to the operator, redialled whenever it is lost: after about 50 ms, doubling to
// 1 s until a coordinator sends Welcome. There is one stream at a time; no event of an old one is
// delivered after its StreamClosed. Messages sent while there is no stream are dropped: the worker
// machine buffers those that matter.
//
// The connection to a coordinator that answered but does not lead is kept for the next dial to it:
// while there is no leader, thousands of agents ask again every second, and a handshake costs far
// more than a call.
//
// With identity sources, the client requests a certificate before the first stream, and renews it
// over the same connection after two thirds of its life; the stream continues.
//
// Used by one thread, which blocks only in HangUp and the destructor; gRPC's threads do the work.
class CoordinatorClient {
 public:
  // `files` must outlive it.
  CoordinatorClient(CoordinatorClientOptions options, Files& files);
  ~CoordinatorClient();

  // Readable when Collect has something to return.
  int poll_fd() const { return mailbox_->fd(); }
  // Returns StreamOpened, StreamClosed and OperatorMessageReceived in order; dials when it is due.
  std::vector<Event> Collect(absl::Time now);
  void Send(const v1alpha1::AgentMessage& message);
  // Leaves the stream; the next dial goes to `address` if it is not empty.
  void Redial(const std::string& address);
  // Ends the stream so that everything sent arrives; waits for at most `timeout`.
  void HangUp(absl::Duration timeout);

  // The newest certificate, with its key, and the authority of coordinators and agents; PEM.
  const KeyAndCertificate& keys() const { return identity_.current(); }
  const std::string& authority_pem() const { return identity_.authority_pem(); }

  // The numbers of certificates received and connections begun so far.
  int certificates() const { return certificates_; }
  int connections() const { return connections_; }

 private:
  struct Asking {
    std::string address;
    absl::Time since;
    std::shared_ptr<grpc::ClientContext> context;
  };

  bool secure() const { return !options_.identity.empty(); }
  std::string NextAddress();
  std::shared_ptr<grpc::Channel> NewChannel(const std::string& address,
                                            const KeyAndCertificate& client);
  void Dial();
  void KeepConnection(bool heard, bool refused);
  void Ask(const std::string& address, std::shared_ptr<grpc::Channel> channel, absl::Time now);
  // Handle one kind of news each; events for the machine are appended to `events`.
  void On(v1alpha1::OperatorMessage& message, absl::Time now, std::vector<Event>& events);
  void On(CoordinatorMailbox::StreamEnded& ended, absl::Time now, std::vector<Event>& events);
  void On(CoordinatorMailbox::Identified& answer, absl::Time now, std::vector<Event>& events);
  void NotIdentified(const absl::Status& why, absl::Time now);
  // Returns a time after `now`, randomized among agents and later after each failure.
  absl::Time BackOff(absl::Time now);

  const CoordinatorClientOptions options_;
  AgentIdentity identity_;
  // Shared with the streams, whose last callbacks may run after this object is gone.
  std::shared_ptr<CoordinatorMailbox> mailbox_;
  // Kept for the life of the client: gRPC's callback threads live as long as some channel that has
  // used them.
  std::shared_ptr<void> first_channel_;
  // Also owned by itself until gRPC is done with it.
  std::shared_ptr<CoordinatorStream> stream_;
  bool heard_ = false;  // a message arrived on this stream
  // The connection to a coordinator that answered but does not lead; null without one.
  std::string spare_address_;
  std::shared_ptr<grpc::Channel> spare_;
  int unheard_ = 0;  // consecutive streams that ended without a message
  std::optional<Asking> asking_;
  int certificates_ = 0;
  int connections_ = 0;
  size_t next_address_ = 0;
  std::string preferred_;
  std::mt19937 random_;
  int failures_ = 0;  // consecutive, for the backoff
  absl::Time next_dial_ = absl::InfinitePast();
  absl::Time next_renewal_ = absl::InfinitePast();
};

// Connects by TLS to a peer that proves to be the coordinator by `authority_pem`, at any address;
// presents `client` if it is not empty. Gives up a peer that answers nothing, not even pings, for
// `silence`. Each dial gets a new channel, so that gRPC's backoff does not add to the client's own.
std::shared_ptr<grpc::Channel> NewTlsChannel(const std::string& address,
                                             const std::string& authority_pem,
                                             const KeyAndCertificate& client,
                                             absl::Duration silence);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_STREAM_COORDINATOR_CLIENT_H_
