#include "agent/replicas/replica_server.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/replicas/copy_parts.h"
#include "agent/replicas/peer_keys.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/logging.h"
#include "base/rpc/grpc_status.h"

namespace muster::agent {
namespace {

bool IsNewer(Files& files, const std::string& path, const v1alpha1::Version& than) {
  const CheckpointListing copy = InspectCheckpoint(files, path);
  return std::pair(copy.attempt, copy.step) > std::pair(than.attempt(), than.step());
}

}  // namespace

class ReplicaServer::Service final : public v1alpha1::Replicas::Service {
 public:
  Service(std::string job_uid, ReplicaStore& store, CopiesOf copies_of, Files& files)
      : job_uid_(std::move(job_uid)),
        store_(store),
        copies_of_(std::move(copies_of)),
        files_(files) {}

  grpc::Status Keep(grpc::ServerContext* context, grpc::ServerReader<v1alpha1::ReplicaPart>* reader,
                    v1alpha1::ReplicaKept*) override {
    absl::Status refused;
    const absl::Status received = store_.Receive([&](v1alpha1::ReplicaPart& part) {
      if (!reader->Read(&part)) return false;
      if (part.has_head()) refused = Check(*context, part.head().worker());
      return refused.ok();
    });
    if (!refused.ok()) return ToGrpc(refused);
    if (!received.ok()) MUSTER_LOG_LIMITED(WARN, "keep", "no replica", {"error", received});
    return ToGrpc(received);
  }

  grpc::Status Fetch(grpc::ServerContext* context, const v1alpha1::FetchReplicas* request,
                     grpc::ServerWriter<v1alpha1::ReplicaPart>* writer) override {
    const v1alpha1::WorkerId& worker = request->worker();
    absl::Status status = worker.job_uid() == job_uid_
                              ? CheckCallerOfJob(*context->auth_context(), job_uid_)
                              : absl::PermissionDeniedError("the worker is of another job");
    if (!status.ok()) return ToGrpc(Refused(*context, std::move(status)));
    for (const ReplicaStore::Replica& replica : copies_of_(worker.index())) {
      if (request->has_newer_than() && !IsNewer(files_, replica.path, request->newer_than())) {
        continue;
      }
      status = SendCopy(files_, replica.path, worker, replica.local_rank,
                        [&](const v1alpha1::ReplicaPart& part) {
                          return writer->Write(part) ? absl::OkStatus()
                                                     : absl::CancelledError("the caller has gone");
                        });
      if (!status.ok()) return ToGrpc(status);
    }
    return grpc::Status::OK;
  }

 private:
  absl::Status Check(const grpc::ServerContext& context, const v1alpha1::WorkerId& worker) const {
    absl::Status status = worker.job_uid() == job_uid_
                              ? CheckCaller(*context.auth_context(), job_uid_, worker.index())
                              : absl::PermissionDeniedError("the worker is of another job");
    return Refused(context, std::move(status));
  }

  // Logs the refusal of a call, if it is one.
  static absl::Status Refused(const grpc::ServerContext& context, absl::Status status) {
    if (!status.ok()) {
      MUSTER_LOG_LIMITED(WARN, context.peer(), "refused a call about replicas", {"error", status});
    }
    return status;
  }

  const std::string job_uid_;
  ReplicaStore& store_;
  const CopiesOf copies_of_;
  Files& files_;
};

absl::StatusOr<std::unique_ptr<ReplicaServer>> ReplicaServer::Start(
    Options options, std::shared_ptr<grpc::ServerCredentials> credentials, ReplicaStore& store,
    CopiesOf copies_of, Files& files) {
  std::unique_ptr<ReplicaServer> server(new ReplicaServer);
  server->credentials_ = std::move(credentials);
  server->service_ = std::make_unique<Service>(options.job_uid, store, std::move(copies_of), files);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, server->credentials_, &server->port_);
  builder.RegisterService(server->service_.get());
  // A worker has one keeper and is one: few calls come at a time.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  builder.SetResourceQuota(grpc::ResourceQuota("replicas").SetMaxThreads(8));
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.address));
  }
  return server;
}

ReplicaServer::~ReplicaServer() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace muster::agent
