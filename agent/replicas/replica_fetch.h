#ifndef MUSTER_AGENT_REPLICAS_REPLICA_FETCH_H_
#define MUSTER_AGENT_REPLICAS_REPLICA_FETCH_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// The replicas that were fetched, as copies of the ranks that are to start.
struct FetchedCopies {
  int copies = 0;
  int64_t bytes = 0;
  absl::Status status;  // the reason why there are no more of them, if that is an error
};

// Fetches the replicas of `worker` from the agent at the other end of `channel` into
// `folder`/rank-N: those that are newer than what is there already, where the two newest of each
// rank stay. Those that came whole before an error stay. `context` bounds the time, and may be
// cancelled by another thread.
FetchedCopies FetchCopies(const std::shared_ptr<grpc::Channel>& channel,
                          grpc::ClientContext& context, const v1alpha1::WorkerId& worker, int ranks,
                          const std::string& folder, Files& files);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_REPLICAS_REPLICA_FETCH_H_
