#ifndef MUSTER_AGENT_REPLICAS_REPLICA_STANDING_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_STANDING_H_

#include <deque>
#include <map>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::agent {

// How the replicas of a worker's copies stand at its peer, as its ranks are told: they copy their
// state again when the copy before is whole there. Pure; not thread-safe.
class ReplicaStanding {
 public:
  // Copies are streamed to another peer from now on, or to none.
  void BeginPeer(bool there);
  // The peer has the rank's copy of `version`, which took the network for `sending`.
  void Kept(int local_rank, const v1alpha1::Version& version, absl::Duration sending);
  // The peer did not take a copy: none is awaited there until it takes another one. Returns false
  // if that was so before.
  bool Failed();
  // Returns true if the peer has the rank's copy of `version`.
  bool Has(int local_rank, const v1alpha1::Version& version) const;
  // Returns what the rank is told.
  v1alpha1::ReplicaReport Report(int local_rank) const;

 private:
  struct Replicas {
    std::deque<v1alpha1::Version> versions;  // as many as a keeper keeps, newest first
    absl::Duration sending;                  // of the newest
  };
  bool streams_ = false;
  std::map<int, Replicas> kept_;  // by local rank
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_STANDING_H_
