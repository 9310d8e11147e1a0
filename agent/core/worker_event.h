#ifndef MUSTER_AGENT_CORE_WORKER_EVENT_H_
#define MUSTER_AGENT_CORE_WORKER_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

// The inputs of the worker machine (events) and its outputs, which the agent carries out (actions).
// Plain values.
//
// A local rank has one process at a time; `generation` counts its processes from 1, so that late
// events of an earlier process are recognized.

namespace muster::agent {

// The control stream is open; Welcome or an order may follow.
struct StreamOpened {};
struct StreamClosed {
  // The leader reported that a newer incarnation of this worker exists.
  bool replaced = false;
};
struct OperatorMessageReceived {
  v1alpha1::OperatorMessage message;
};
struct RankMessageReceived {
  int local_rank = 0;
  int generation = 0;
  v1alpha1::FromTrainer message;
};
struct RankLinkClosed {
  int local_rank = 0;
  int generation = 0;
};
struct RankEnded {
  int local_rank = 0;
  int generation = 0;
  int code = 0;    // 128+signal if killed
  int signal = 0;  // 0 if it exited
  std::string log_tail;
  // The kernel's OOM killer had killed a process of the container by the time that this one ended.
  bool out_of_memory = false;
};
// The answer to ReservePort.
struct PortReserved {
  v1alpha1::RoundId round;
  int port = 0;
};
// The agent now serves replicas of other workers' copies at kept.endpoint, or the replicas that it
// keeps have changed.
struct ReplicasChanged {
  v1alpha1::ReplicasKept kept;
  // The workers in `kept` whose replicas are in memory, where ranks can read them. The others'
  // copies are on the disk alone.
  std::vector<int> in_memory;
};
// The answer to FetchReplicas: the copies that could be fetched lie among those of the ranks.
struct ReplicasFetched {};
// States which of a rank's copies are whole at the peer, after a change or as a repetition.
struct ReplicaReported {
  int local_rank = 0;
  v1alpha1::ReplicaReport report;
};
// The agent itself received SIGTERM or SIGINT.
struct Terminate {
  int signal = 0;
};
// Time has passed. Must be sent at least every 100 ms.
struct Tick {};

using Event = std::variant<StreamOpened, StreamClosed, OperatorMessageReceived, RankMessageReceived,
                           RankLinkClosed, RankEnded, PortReserved, ReplicasChanged,
                           ReplicasFetched, ReplicaReported, Terminate, Tick>;

// A rank's place in its round at launch, in torchrun's terms.
struct RankPlacement {
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  int local_world_size = 1;
  int group_rank = 0;
  int group_world_size = 1;
  int restart_count = 0;
  // The index by which programs of indexed Jobs know their part of the work; absent: the worker's.
  std::optional<int> completion_index = std::nullopt;
  // Rank 0's endpoint; empty if it is not known at launch (the built-in trainer gets it with Go).
  std::string master_endpoint;

  bool operator==(const RankPlacement&) const = default;
};

// A launch that fails is reported as RankEnded with code 126 or 127.
struct LaunchRank {
  int generation = 0;
  RankPlacement placement;
};
struct KillRank {
  int local_rank = 0;
  int generation = 0;
  int signal = 0;
};
struct SendToRank {
  int local_rank = 0;
  v1alpha1::ToTrainer message;
};
struct SendToOperator {
  v1alpha1::AgentMessage message;
};
// Requests a free TCP port for the rendezvous store of a user's command; answered by PortReserved.
struct ReservePort {
  v1alpha1::RoundId round;
};
// Keeps and serves replicas of other workers' copies from now on, in `room` bytes, and serves the
// copies below the folder `disk`; answered by ReplicasChanged.
struct ServeReplicas {
  int64_t room = 0;
  std::string disk;  // empty: no copies on disk
};
// Keeps on disk the next copy of each rank at `from_step` or later.
struct KeepOnDisk {
  int64_t from_step = 0;
};
// Removes the job's copies from the disk when the agent ends: the job has ended, and no worker will
// go on from them.
struct RemoveFromDisk {};
// Streams the ranks' copies to `peer` from now on; nullopt stops it. Answered by ReplicaReported
// for each rank, and again when a copy is whole at the peer.
struct ReplicateTo {
  std::optional<v1alpha1::ReplicaPeer> peer;
};
// Fetches the copies of worker `of` for this worker's ranks, from the disk, if copies are kept
// there, and from `sources`, in at most the time `within`; answered by ReplicasFetched.
struct FetchReplicas {
  int of = 0;
  std::vector<v1alpha1::ReplicaPeer> sources;
  absl::Duration within;
};
// Leaves this stream and dials again, `address` first if it is not empty.
struct Redial {
  std::string address;
  std::string reason;
};
// The last action ever: no process is left.
struct ExitAgent {
  int code = 0;
  std::string reason;
};

using Action =
    std::variant<LaunchRank, KillRank, SendToRank, SendToOperator, ReservePort, ServeReplicas,
                 KeepOnDisk, RemoveFromDisk, ReplicateTo, FetchReplicas, Redial, ExitAgent>;

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_WORKER_EVENT_H_
