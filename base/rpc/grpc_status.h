#ifndef MUSTER_BASE_RPC_GRPC_STATUS_H_
#define MUSTER_BASE_RPC_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/status/status.h"

namespace muster {

// The codes of both have the same numbers. Pure.
inline absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message()));
}

}  // namespace muster

#endif  // MUSTER_BASE_RPC_GRPC_STATUS_H_
