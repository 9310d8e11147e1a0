#include "base/rpc/peer_certificate.h"

#include <grpc/grpc_security_constants.h>

#include <vector>

namespace muster {
namespace {

// Returns the property's value if it has exactly one.
std::optional<std::string> Value(const grpc::AuthContext& context, const char* name) {
  const std::vector<grpc::string_ref> values = context.FindPropertyValues(name);
  if (values.size() != 1) return std::nullopt;
  return std::string(values[0].data(), values[0].size());
}

}  // namespace

bool IsEncrypted(const grpc::AuthContext& context) {
  return Value(context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME) ==
         GRPC_SSL_TRANSPORT_SECURITY_TYPE;
}

std::optional<std::string> PeerCertificate(const grpc::AuthContext& context) {
  return Value(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
}

}  // namespace muster
