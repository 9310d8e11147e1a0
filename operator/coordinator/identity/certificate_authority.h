#ifndef MUSTER_OPERATOR_COORDINATOR_IDENTITY_CERTIFICATE_AUTHORITY_H_
#define MUSTER_OPERATOR_COORDINATOR_IDENTITY_CERTIFICATE_AUTHORITY_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/tls/x509.h"
#include "operator/coordinator/identity/node_identity.h"
#include "operator/coordinator/identity/peer_identity.h"

namespace muster::control {

// The name that every replica's certificate carries, whatever its address.
inline constexpr char kCoordinatorServerName[] = "muster-coordinator";

struct IssuedKey {
  std::string key_pem;
  std::string certificate_pem;
  absl::Time not_after;  // wall
};

// Signs the certificates of replicas, workers and node agents. Times are wall times. A value
// without mutable state; pure but for OpenSSL's random numbers.
class CertificateAuthority {
 public:
  static constexpr absl::Duration kLifetime = absl::Hours(24 * 3650);
  // Clocks of different machines may differ by this much.
  static constexpr absl::Duration kSkew = absl::Minutes(5);

  static absl::StatusOr<CertificateAuthority> Make(absl::Time now);
  // `bundle_pem` may hold older authorities after the first, which must fit the key.
  static absl::StatusOr<CertificateAuthority> FromPem(const std::string& bundle_pem,
                                                      const std::string& key_pem);

  // Returns a new key and a certificate for kCoordinatorServerName.
  absl::StatusOr<IssuedKey> IssueServer(absl::Time now, absl::Duration lifetime) const;
  // Returns the certificate in PEM; kInvalidArgument if the request is malformed. That of a worker
  // serves other workers of its job too, by the name WorkerServerName().
  absl::StatusOr<std::string> SignWorker(const PeerIdentity& identity, std::string_view request,
                                         absl::Time now, absl::Duration lifetime) const;
  absl::StatusOr<std::string> SignNode(const NodeIdentity& identity, std::string_view request,
                                       absl::Time now, absl::Duration lifetime) const;

  // Returns the expiry of its own certificate, the first of the bundle.
  absl::Time not_after() const { return not_after_; }
  // Returns all authorities to trust.
  const std::string& bundle_pem() const { return issuer_.certificate_pem; }
  // Returns the private key, which is secret.
  std::string key_pem() const { return issuer_.key.ToPem(); }

 private:
  CertificateAuthority(Issuer issuer, absl::Time not_after)
      : issuer_(std::move(issuer)), not_after_(not_after) {}

  Issuer issuer_;
  absl::Time not_after_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_IDENTITY_CERTIFICATE_AUTHORITY_H_
