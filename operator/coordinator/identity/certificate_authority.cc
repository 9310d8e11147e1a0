#include "operator/coordinator/identity/certificate_authority.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/tls/worker_name.h"

namespace muster::control {
namespace {

CertificateProfile Profile(CertificateProfile::Use use, const std::string& name, absl::Time now,
                           absl::Duration lifetime) {
  CertificateProfile profile;
  profile.use = use;
  profile.common_name = name;
  profile.not_before = now - CertificateAuthority::kSkew;
  profile.not_after = now + lifetime;
  return profile;
}

}  // namespace

absl::StatusOr<CertificateAuthority> CertificateAuthority::Make(absl::Time now) {
  MUSTER_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  const CertificateProfile profile =
      Profile(CertificateProfile::Use::kAuthority, "muster coordinator authority", now, kLifetime);
  MUSTER_ASSIGN_OR_RETURN(const std::string certificate, SelfSign(key, profile));
  return FromPem(certificate, key.ToPem());
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::FromPem(const std::string& bundle_pem,
                                                                   const std::string& key_pem) {
  MUSTER_ASSIGN_OR_RETURN(const CertificateInfo info, ReadCertificate(bundle_pem));
  if (!info.is_authority) {
    return absl::InvalidArgumentError("its first certificate is not that of an authority");
  }
  MUSTER_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::FromPem(key_pem));
  if (!KeyMatches(key, bundle_pem)) {
    return absl::InvalidArgumentError("its key does not match its first certificate");
  }
  return CertificateAuthority(Issuer{bundle_pem, std::move(key)}, info.not_after);
}

absl::StatusOr<IssuedKey> CertificateAuthority::IssueServer(absl::Time now,
                                                            absl::Duration lifetime) const {
  MUSTER_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  CertificateProfile profile =
      Profile(CertificateProfile::Use::kServer, kCoordinatorServerName, now, lifetime);
  profile.dns_names = {kCoordinatorServerName};
  IssuedKey issued{.key_pem = key.ToPem(), .not_after = profile.not_after};
  MUSTER_ASSIGN_OR_RETURN(issued.certificate_pem, SignKey(issuer_, key, profile));
  return issued;
}

absl::StatusOr<std::string> CertificateAuthority::SignWorker(const PeerIdentity& identity,
                                                             std::string_view request,
                                                             absl::Time now,
                                                             absl::Duration lifetime) const {
  // Agents of a job's workers serve each other.
  CertificateProfile profile =
      Profile(CertificateProfile::Use::kPeer, "muster worker", now, lifetime);
  profile.dns_names = {WorkerServerName(identity.job_uid, identity.index)};
  profile.uris = {ToUri(identity)};
  return SignRequest(issuer_, request, profile);
}

absl::StatusOr<std::string> CertificateAuthority::SignNode(const NodeIdentity& identity,
                                                           std::string_view request, absl::Time now,
                                                           absl::Duration lifetime) const {
  CertificateProfile profile =
      Profile(CertificateProfile::Use::kClient, "muster node agent", now, lifetime);
  profile.uris = {ToUri(identity)};
  return SignRequest(issuer_, request, profile);
}

}  // namespace muster::control
