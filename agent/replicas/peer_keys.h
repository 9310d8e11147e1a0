#ifndef MUSTER_AGENT_REPLICAS_PEER_KEYS_H_
#define MUSTER_AGENT_REPLICAS_PEER_KEYS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"

// How agents of one job's workers prove themselves to each other.
namespace muster::agent {

// The certificate that the coordinator gave this agent, with its key, and the authority by which
// those of others are checked; PEM. Empty on one machine, where unix sockets keep others out.
struct PeerKeys {
  std::string authority_pem;
  std::string key_pem;
  std::string certificate_pem;

  bool empty() const { return certificate_pem.empty(); }
};

// The newest keys. Thread-safe.
class PeerKeyBox {
 public:
  struct Entry {
    PeerKeys keys;
    int64_t generation = 0;  // raised by each Set()
  };

  void Set(PeerKeys keys);
  Entry Get() const;

 private:
  mutable Mutex mu_;
  Entry entry_ MUSTER_GUARDED_BY(mu_);
};

// Returns TLS credentials that take the keys anew at each handshake, and require a certificate of
// the same authority. The result and `keys` must outlive the server.
std::shared_ptr<grpc::ServerCredentials> MakePeerServerCredentials(const PeerKeyBox& keys);

// Connects to the agent of another worker of the job: to a host by TLS, if it proves to be that
// worker. A host that answers no pings is given up.
std::shared_ptr<grpc::Channel> NewPeerChannel(const v1alpha1::ReplicaPeer& peer,
                                              const std::string& job_uid, const PeerKeys& keys);

// Returns OK if the caller has proved to be this worker of the job, in any incarnation; over a unix
// socket its word is taken. PermissionDenied otherwise.
absl::Status CheckCaller(const grpc::AuthContext& context, const std::string& job_uid, int index);

// The same for any worker of the job.
absl::Status CheckCallerOfJob(const grpc::AuthContext& context, const std::string& job_uid);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_PEER_KEYS_H_
