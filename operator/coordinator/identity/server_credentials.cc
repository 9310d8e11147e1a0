#include "operator/coordinator/identity/server_credentials.h"

#include <grpc/support/log.h>

#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "base/rpc/reloading_credentials.h"

namespace muster::control {
namespace {

// The logs of all HandshakeFailureWatch objects. Lives for ever: gRPC may log at exit.
struct Watches {
  Mutex mu;
  std::set<RefusalLog*> all MUSTER_GUARDED_BY(mu);
};
Watches& AllWatches() {
  static auto& watches = *new Watches;
  return watches;
}

void TakeGrpcLine(gpr_log_func_args* line) {
  const std::string message = line->message;
  if (!absl::StrContains(message, "Handshake failed with")) {
    if (line->severity == GPR_LOG_SEVERITY_ERROR) MUSTER_LOG(WARN, "grpc", {"says", message});
    return;
  }
  // A client's failed handshake is an ordinary failed dial, so the line itself is not logged.
  Watches& watches = AllWatches();
  MutexLock lock(watches.mu);
  for (RefusalLog* refusals : watches.all) {
    refusals->Note(Refused(Refusal::kHandshakeFailed, absl::StatusCode::kUnauthenticated, message),
                   "a connection");
  }
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(CoordinatorIdentity& identity) {
  return ReloadingCredentials(
      ClientCertificate::kRequested, [&identity]() -> std::optional<ServerKeys> {
        const auto serving = identity.ServingCertificate();
        if (!serving.ok()) {
          MUSTER_LOG(ERROR, "no serving certificate", {"error", serving.status()});
          return std::nullopt;
        }
        return ServerKeys{.key_pem = serving->issued.key_pem,
                          .certificate_pem = serving->issued.certificate_pem,
                          .authority_pem = identity.authority_pem(),
                          .generation = serving->generation};
      });
}

HandshakeFailureWatch::HandshakeFailureWatch(RefusalLog& refusals) : refusals_(refusals) {
  Watches& watches = AllWatches();
  MutexLock lock(watches.mu);
  watches.all.insert(&refusals_);
  gpr_set_log_function(&TakeGrpcLine);
}

HandshakeFailureWatch::~HandshakeFailureWatch() {
  Watches& watches = AllWatches();
  MutexLock lock(watches.mu);
  watches.all.erase(&refusals_);
  if (watches.all.empty()) gpr_set_log_function(nullptr);
}

}  // namespace muster::control
