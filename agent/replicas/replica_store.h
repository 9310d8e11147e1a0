#ifndef MUSTER_AGENT_REPLICAS_REPLICA_STORE_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/replicas/copy_parts.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/replica.pb.h"

namespace muster::agent {

// The replicas that an agent keeps of another worker's copies: the last two that arrived of each of
// its ranks, below a folder in memory that the agent owns. Two, because the workers may hold copies
// of two steps, and all must go on from the same one. When a copy of another worker arrives, the
// replicas of the previous worker are removed. Thread-safe.
class ReplicaStore {
 public:
  struct Options {
    std::string folder;
    std::string job_uid;
    int own_index = 0;
  };
  struct Replica {
    int local_rank = 0;
    std::string path;
  };

  // `files` must outlive it. `on_change` is called, without the lock, when Workers() has changed.
  ReplicaStore(Options options, Files& files, std::function<void()> on_change);

  // Sets the most bytes that replicas may take, including those that are arriving.
  void SetRoom(int64_t bytes);

  // Receives one copy: `next` returns false at the end of the stream. The parts begin with a head.
  // ResourceExhausted if it does not fit into the room; else as CopyReceiver.
  absl::Status Receive(const std::function<bool(v1alpha1::ReplicaPart&)>& next);

  // Returns the replicas of worker `index`, the newest of each rank first.
  std::vector<Replica> Of(int index) const;
  // Returns the indices of the workers whose replicas it has.
  std::vector<int> Workers() const;

 private:
  struct Kept {
    std::string directory;
    int64_t bytes = 0;
  };

  absl::Status ReceiveCopy(const v1alpha1::ReplicaHead& head,
                           const std::function<bool(v1alpha1::ReplicaPart&)>& next);
  absl::Status Admit(const v1alpha1::ReplicaHead& head);
  void Keep(const v1alpha1::ReplicaHead& head);
  void Release(int64_t bytes);
  std::string FolderOf(int index) const;
  std::string FolderOf(int index, int local_rank) const;
  void Forget(int index) MUSTER_REQUIRES(mu_);

  const Options options_;
  Files& files_;
  const std::function<void()> on_change_;
  mutable Mutex mu_;
  int64_t room_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t arriving_ MUSTER_GUARDED_BY(mu_) = 0;  // bytes announced by the streams that are open
  // Newest first, by worker and local rank.
  std::map<std::pair<int, int>, std::deque<Kept>> kept_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_STORE_H_
