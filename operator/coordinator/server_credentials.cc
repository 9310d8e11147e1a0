#include "operator/coordinator/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "base/logging.h"
#include "base/mutex.h"

namespace muster::control {
namespace {

class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingCredentials(CoordinatorIdentity& identity) : identity_(identity) {
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY, &ReloadingCredentials::Fetch, this));
  }
  ~ReloadingCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // gRPC calls this at the start of each handshake, one at a time.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<ReloadingCredentials*>(self);
    const auto serving = credentials.identity_.ServingCertificate();
    if (!serving.ok()) {
      MUSTER_LOG(ERROR, "no serving certificate", {"error", serving.status()});
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    }
    if (serving->generation == credentials.generation_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {serving->issued.key_pem.c_str(),
                                             serving->issued.certificate_pem.c_str()};
    *config = grpc_ssl_server_certificate_config_create(
        credentials.identity_.authority_pem().c_str(), &pair, 1);
    credentials.generation_ = serving->generation;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  CoordinatorIdentity& identity_;
  grpc_server_credentials* credentials_;
  int64_t generation_ = 0;  // of the certificate that gRPC has; only Fetch touches it
};

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
  return std::make_shared<ReloadingCredentials>(identity);
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
