#ifndef MUSTER_BASE_RPC_RELOADING_CREDENTIALS_H_
#define MUSTER_BASE_RPC_RELOADING_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster {

// A server's certificate with its key, and the authority by which those of clients are checked;
// PEM.
struct ServerKeys {
  std::string key_pem;
  std::string certificate_pem;
  std::string authority_pem;
  int64_t generation = 0;  // another one for other keys; above 0
};

enum class ClientCertificate { kRequested, kRequired };

// Returns TLS credentials of a server that take its keys anew at each handshake, so that they are
// renewed without touching open connections or the port. A client's certificate is verified against
// the authority if there is one, and must be there if it is required. gRPC's own reloading
// credentials need files; here keys stay in memory. `keys` is called by one thread at a time, and
// returns nullopt to refuse the handshake. The result, and what `keys` refers to, must outlive the
// server: the server's builder does not keep them.
std::shared_ptr<grpc::ServerCredentials> ReloadingCredentials(
    ClientCertificate client, std::function<std::optional<ServerKeys>()> keys);

}  // namespace muster

#endif  // MUSTER_BASE_RPC_RELOADING_CREDENTIALS_H_
