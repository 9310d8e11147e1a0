#include "operator/app/http_servers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/files/private_files.h"
#include "base/net/unix_socket.h"
#include "base/status_macros.h"
#include "operator/web/gate.h"
#include "operator/web/http/listener.h"

namespace muster::control {
namespace {

constexpr size_t kMostPem = 1 << 20;

bool IsPort(const HttpOptions& options) {
  return !options.address.empty() && !IsUnixAddress(options.address);
}

TlsKeys KeysFrom(const HttpOptions& options, CoordinatorIdentity* identity) {
  if (options.certificate_file.empty()) {
    return [identity]() -> absl::StatusOr<TlsKeyPair> {
      MUSTER_ASSIGN_OR_RETURN(const auto serving, identity->ServingCertificate());
      return TlsKeyPair{serving.issued.certificate_pem, serving.issued.key_pem};
    };
  }
  return [certificate = options.certificate_file,
          key = options.key_file]() -> absl::StatusOr<TlsKeyPair> {
    TlsKeyPair pair;
    MUSTER_ASSIGN_OR_RETURN(pair.certificate_pem, ReadFile(FileSystem(), certificate, kMostPem));
    MUSTER_ASSIGN_OR_RETURN(pair.key_pem, ReadFile(FileSystem(), key, kMostPem));
    return pair;
  };
}

absl::StatusOr<Gate> GateForOneMachine(const HttpOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(const TcpAddress to, ParseTcpAddress(options.address));
  if (!IsLoopback(to.host)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot listen for HTTP on ", options.address,
        ": without a cluster only addresses of this machine are served, as 127.0.0.1:0; from "
        "another machine, forward the port over ssh"));
  }
  if (options.token_file.empty()) {
    return absl::InvalidArgumentError("HTTP on a port needs a file for its token");
  }
  const std::string token = NewToken();
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(PrivateFileSystem(), options.token_file, token));
  return TokenGate(token);
}

}  // namespace

bool NeedsIdentity(const HttpOptions& options) {
  return IsPort(options) && options.cluster && options.certificate_file.empty();
}

absl::StatusOr<std::unique_ptr<HttpServers>> HttpServers::Open(const HttpOptions& options,
                                                               WebDeps deps, kube::Api& api,
                                                               const Clock& clock,
                                                               CoordinatorIdentity* identity) {
  std::unique_ptr<HttpServers> servers(new HttpServers(api, clock));
  if (!options.probe_address.empty()) {
    MUSTER_ASSIGN_OR_RETURN(servers->probes_, WebServer::StartProbes(options.probe_address, deps));
  }
  if (options.address.empty()) return servers;
  WebOptions pages;
  pages.address = options.address;
  if (options.cluster) pages.commands = Commands::kRefused;
  if (IsPort(options) && options.cluster) {
    pages.keys = KeysFrom(options, identity);
    pages.gate = [reviews = &servers->reviews_](const HttpRequest& request) {
      return reviews->Admit(request);
    };
  } else if (IsPort(options)) {
    MUSTER_ASSIGN_OR_RETURN(pages.gate, GateForOneMachine(options));
  }
  MUSTER_ASSIGN_OR_RETURN(servers->pages_, WebServer::Start(std::move(pages), std::move(deps)));
  return servers;
}

void HttpServers::Close() {
  if (pages_ != nullptr) pages_->Stop();
  if (probes_ != nullptr) probes_->Stop();
}

}  // namespace muster::control
