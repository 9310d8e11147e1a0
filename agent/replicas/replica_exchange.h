#ifndef MUSTER_AGENT_REPLICAS_REPLICA_EXCHANGE_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_EXCHANGE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/worker_event.h"
#include "agent/replicas/disk_keeper.h"
#include "agent/replicas/peer_keys.h"
#include "agent/replicas/replica_sender.h"
#include "agent/replicas/replica_server.h"
#include "agent/replicas/replica_store.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "base/net/wake_fd.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// Replicates copies for one agent: keeps replicas of another worker's copies in memory, has its own
// ranks' copies kept by a peer and on the disk of its node, and fetches the copies of a worker
// whose place it takes. Used by one thread, which it blocks only when it is destroyed; threads of
// its own do the work.
class ReplicaExchange {
 public:
  struct Options {
    v1alpha1::WorkerId worker;
    int ranks = 1;
    std::string host;  // by which others reach it
    // The folder of this agent's copies, which must exist, and is private to this user.
    std::string folder;
    // Serves on a Unix socket in that folder; else on any TCP port, with keys.
    bool on_socket = false;
  };

  // All must outlive it.
  ReplicaExchange(Options options, Files& files, const Clock& clock);
  ~ReplicaExchange();

  // Call before Serve(), unless it serves on a socket, and again with each new certificate.
  void SetKeys(PeerKeys keys) { keys_.Set(std::move(keys)); }
  // Begins to serve and to watch the copies. `room` bounds the replicas that it keeps, in bytes;
  // `disk` is the folder of copies on disk, or empty. May be repeated with another room.
  absl::Status Serve(int64_t room, const std::string& disk = "");
  // As DiskKeeper::KeepFrom(). Does nothing without copies on disk.
  void KeepOnDisk(int64_t from_step);
  // Removes the job's copies from the disk when the agent ends. Does nothing without copies on
  // disk.
  void RemoveFromDiskAtEnd();
  // As ReplicaSender::SetPeer(). Does nothing before Serve().
  void SetPeer(std::optional<v1alpha1::ReplicaPeer> peer);
  // Fetches the copies of worker `of` from the disk, then newer ones from each of `sources`;
  // without a disk, from the first of `sources` that has any. Take() returns ReplicasFetched at the
  // latest after `within`. One fetch at a time.
  void Fetch(int of, std::vector<v1alpha1::ReplicaPeer> sources, absl::Duration within);

  // Readable when Take() has something to return.
  int poll_fd() const { return wake_.get(); }
  // Returns ReplicasChanged and ReplicasFetched, and the newest ReplicaReported of each rank.
  std::vector<Event> Take();

 private:
  void NoteChange();
  void NoteReport(int local_rank, const v1alpha1::ReplicaReport& report);
  absl::Status StartServer();
  void StartDisk(const std::string& folder);
  void FetchAll(int of, const std::vector<v1alpha1::ReplicaPeer>& sources, absl::Duration within);
  void FetchFromDisk(int of, absl::Time deadline);
  // Returns the number of copies; nullopt once this object is being destroyed.
  std::optional<int> FetchFrom(int of, const v1alpha1::ReplicaPeer& peer, absl::Time deadline);
  std::vector<ReplicaStore::Replica> CopiesOf(int index) const;
  std::vector<int> Workers() const;
  std::shared_ptr<grpc::Channel> Dial(const v1alpha1::ReplicaPeer& peer) const;

  const Options options_;
  Files& files_;
  const Clock& clock_;
  PeerKeyBox keys_;
  const WakeFd wake_;
  ReplicaStore store_;
  std::unique_ptr<DiskKeeper> disk_;  // null without copies on disk
  std::string endpoint_;              // empty until it serves
  std::unique_ptr<ReplicaServer> server_;
  std::unique_ptr<ReplicaSender> sender_;
  std::thread fetch_;

  Mutex mu_;
  bool changed_ MUSTER_GUARDED_BY(mu_) = false;
  std::map<int, v1alpha1::ReplicaReport> reports_ MUSTER_GUARDED_BY(mu_);  // by local rank
  bool fetched_ MUSTER_GUARDED_BY(mu_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  grpc::ClientContext* fetching_ MUSTER_GUARDED_BY(mu_) = nullptr;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_EXCHANGE_H_
