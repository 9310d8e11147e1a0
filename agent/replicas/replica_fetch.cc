#include "agent/replicas/replica_fetch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/copies_layout.h"
#include "agent/replicas/copy_parts.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/rpc/grpc_status.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/replica.grpc.pb.h"

namespace muster::agent {
namespace {

using v1alpha1::ReplicaPart;

// Frees the memory of older copies at once, because there is room for three of a rank.
void KeepNewest(Files& files, const std::string& folder) {
  const std::vector<CheckpointListing> copies = CompleteCopies(files, folder);
  for (size_t i = kCopiesOfARank; i < copies.size(); ++i) {
    RemoveAll(files, JoinPath(folder, copies[i].directory)).IgnoreError();
  }
}

// Returns the oldest among the ranks' newest copies: each rank has that version or a newer one.
// nullopt if a rank has no copy.
std::optional<v1alpha1::Version> NewestOfAll(Files& files, const std::string& folder, int ranks) {
  std::optional<std::pair<int64_t, int64_t>> least;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<CheckpointListing> copies = CompleteCopies(files, CopiesOfRank(folder, rank));
    if (copies.empty()) return std::nullopt;
    const std::pair newest(copies.front().attempt, copies.front().step);
    least = least ? std::min(*least, newest) : newest;
  }
  if (!least) return std::nullopt;
  v1alpha1::Version version;
  version.set_attempt(least->first);
  version.set_step(least->second);
  return version;
}

absl::Status ReceiveAll(grpc::ClientReader<ReplicaPart>& reader, const v1alpha1::WorkerId& worker,
                        int ranks, const std::string& folder, Files& files,
                        FetchedCopies& fetched) {
  std::unique_ptr<CopyReceiver> receiver;
  int64_t bytes = 0;
  ReplicaPart part;
  while (reader.Read(&part)) {
    if (receiver == nullptr) {
      const int rank = part.head().local_rank();
      if (!part.has_head() || rank < 0 || rank >= ranks) {
        return absl::InvalidArgumentError("replica: no head of a copy of one of the ranks");
      }
      bytes = part.head().bytes();
      MUSTER_ASSIGN_OR_RETURN(receiver, CopyReceiver::Begin(files, worker.job_uid(), part.head(),
                                                            CopiesOfRank(folder, rank)));
      continue;
    }
    MUSTER_RETURN_IF_ERROR(receiver->Take(part));
    if (!receiver->complete()) continue;
    KeepNewest(files, ParentPath(receiver->target()));
    receiver.reset();
    ++fetched.copies;
    fetched.bytes += bytes;
  }
  return absl::OkStatus();
}

}  // namespace

FetchedCopies FetchCopies(const std::shared_ptr<grpc::Channel>& channel,
                          grpc::ClientContext& context, const v1alpha1::WorkerId& worker, int ranks,
                          const std::string& folder, Files& files) {
  FetchedCopies fetched;
  v1alpha1::FetchReplicas request;
  *request.mutable_worker() = worker;
  if (auto newest = NewestOfAll(files, folder, ranks)) {
    *request.mutable_newer_than() = *std::move(newest);
  }
  const auto stub = v1alpha1::Replicas::NewStub(channel);
  const auto reader = stub->Fetch(&context, request);
  fetched.status = ReceiveAll(*reader, worker, ranks, folder, files, fetched);
  if (!fetched.status.ok()) context.TryCancel();
  const grpc::Status ended = reader->Finish();
  if (fetched.status.ok()) fetched.status = ToAbsl(ended);
  return fetched;
}

}  // namespace muster::agent
