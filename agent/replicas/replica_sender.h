#ifndef MUSTER_AGENT_REPLICAS_REPLICA_SENDER_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_SENDER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/replicas/copies_watch.h"
#include "agent/replicas/replica_pace.h"
#include "agent/replicas/replica_standing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/net/wake_fd.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/replica.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// Streams each copy that the worker's ranks complete to the agent of another worker; a copy that
// was replaced before its turn is skipped. The ranks are told when a copy is whole at the peer,
// because they keep it until the next one is, and when the peer takes no copies, so that they do
// not wait. A thread of its own does the work, so that no step waits for a slow or dead peer: only
// the replica gets older. Thread-safe.
class ReplicaSender {
 public:
  using Dial = std::function<std::shared_ptr<grpc::Channel>(const v1alpha1::ReplicaPeer&)>;
  // Tells a rank which of its copies are whole at the peer. Called from several threads; must not
  // call the sender.
  using Tell = std::function<void(int local_rank, const v1alpha1::ReplicaReport&)>;
  struct Options {
    v1alpha1::WorkerId worker;
    int ranks = 1;
    std::string folder;  // of the copies, below which each rank has one
  };

  // All must outlive it. Fails if the folder cannot be watched.
  static absl::StatusOr<std::unique_ptr<ReplicaSender>> Start(Options options, Files& files,
                                                              const Clock& clock, Dial dial,
                                                              Tell tell);
  // Cancels the stream in progress.
  ~ReplicaSender();

  // Streams to `peer` from now on, beginning with the newest copies; nullopt stops it. If the peer
  // is the same as before, tells the ranks again what is whole there, and sends the newest copies
  // that it lacks, because the ranks may have gone back to them.
  void SetPeer(std::optional<v1alpha1::ReplicaPeer> peer);

 private:
  ReplicaSender(Options options, CopiesWatch watch, Files& files, const Clock& clock, Dial dial,
                Tell tell);
  void Run();
  // Waits for a completed copy, another peer or the end, and at most until `deadline`.
  void Wait(absl::Time deadline);
  void TakeCopies();
  void TakePeer();
  bool IsAtPeer(const CompletedCopy& copy);
  // Returns true if an open stream is to end.
  bool Interrupted();
  bool HasOrders();
  void SendPending();
  absl::Status Send(const CompletedCopy& copy);
  void NoteKept(const CompletedCopy& copy, const v1alpha1::Version& version);
  void NoteFailed();
  void TellAll() MUSTER_REQUIRES(mu_);
  // Waits until a part may be sent; Aborted if the peer changes or this object ends.
  absl::Status AwaitTurn(absl::Time next);
  // Sets `sending_` to the time that it spends on sending, without the waits for its turns.
  absl::Status Stream(const CompletedCopy& copy, grpc::ClientContext& context);

  const Options options_;
  Files& files_;
  const Clock& clock_;
  const Dial dial_;
  const Tell tell_;
  const WakeFd wake_;

  // Only the thread touches these.
  CopiesWatch watch_;
  ReplicaPace pace_;
  std::map<int, CompletedCopy> pending_;  // by local rank: complete, and not sent yet
  std::optional<v1alpha1::ReplicaPeer> peer_;
  std::shared_ptr<grpc::Channel> channel_;
  absl::Time retry_at_ = absl::InfinitePast();
  absl::Duration sending_;  // of the newest stream

  Mutex mu_;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  bool peer_changed_ MUSTER_GUARDED_BY(mu_) = false;
  bool look_again_ MUSTER_GUARDED_BY(mu_) = false;  // for copies that the peer does not have
  ReplicaStanding standing_ MUSTER_GUARDED_BY(mu_);
  std::optional<v1alpha1::ReplicaPeer> next_peer_ MUSTER_GUARDED_BY(mu_);
  grpc::ClientContext* context_ MUSTER_GUARDED_BY(mu_) = nullptr;  // of the open stream
  std::thread thread_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_SENDER_H_
