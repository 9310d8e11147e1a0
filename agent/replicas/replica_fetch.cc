#include "agent/replicas/replica_fetch.h"

#include "absl/status/statusor.h"
#include "agent/core/copies_layout.h"
#include "agent/replicas/copy_parts.h"
#include "base/rpc/grpc_status.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/replica.grpc.pb.h"

namespace muster::agent {
namespace {

using v1alpha1::ReplicaPart;

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
  const auto stub = v1alpha1::Replicas::NewStub(channel);
  const auto reader = stub->Fetch(&context, request);
  fetched.status = ReceiveAll(*reader, worker, ranks, folder, files, fetched);
  if (!fetched.status.ok()) context.TryCancel();
  const grpc::Status ended = reader->Finish();
  if (fetched.status.ok()) fetched.status = ToAbsl(ended);
  return fetched;
}

}  // namespace muster::agent
