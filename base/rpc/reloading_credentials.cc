#include "base/rpc/reloading_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <utility>

namespace muster {
namespace {

class Reloading final : public grpc::ServerCredentials {
 public:
  Reloading(ClientCertificate client, std::function<std::optional<ServerKeys>()> keys)
      : keys_(std::move(keys)) {
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            client == ClientCertificate::kRequired
                ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY,
            &Reloading::Fetch, this));
  }
  ~Reloading() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  // gRPC calls this at the start of each handshake, one at a time.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<Reloading*>(self);
    const std::optional<ServerKeys> keys = credentials.keys_();
    if (!keys) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
    if (keys->generation == credentials.generation_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {keys->key_pem.c_str(), keys->certificate_pem.c_str()};
    *config = grpc_ssl_server_certificate_config_create(keys->authority_pem.c_str(), &pair, 1);
    credentials.generation_ = keys->generation;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::function<std::optional<ServerKeys>()> keys_;
  grpc_server_credentials* credentials_;
  int64_t generation_ = 0;  // of the keys that gRPC has; only Fetch touches it
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> ReloadingCredentials(
    ClientCertificate client, std::function<std::optional<ServerKeys>()> keys) {
  return std::make_shared<Reloading>(client, std::move(keys));
}

}  // namespace muster
