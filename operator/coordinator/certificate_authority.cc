#include "operator/coordinator/certificate_authority.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/tls/worker_name.h"

namespace muster::control {

absl::StatusOr<CertificateAuthority> CertificateAuthority::Make(absl::Time now) {
  MUSTER_ASSIGN_OR_RETURN(const PrivateKey key, PrivateKey::Generate());
  CertificateProfile profile;
  profile.use = CertificateProfile::Use::kAuthority;
  profile.common_name = "muster coordinator authority";
  profile.not_before = now - kSkew;
  profile.not_after = now + kLifetime;
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
  CertificateProfile profile;
  profile.use = CertificateProfile::Use::kServer;
  profile.common_name = kCoordinatorServerName;
  profile.dns_names = {kCoordinatorServerName};
  profile.not_before = now - kSkew;
  profile.not_after = now + lifetime;
  IssuedKey issued{.key_pem = key.ToPem(), .not_after = profile.not_after};
  MUSTER_ASSIGN_OR_RETURN(issued.certificate_pem, SignKey(issuer_, key, profile));
  return issued;
}

absl::StatusOr<std::string> CertificateAuthority::SignWorker(const PeerIdentity& identity,
                                                             std::string_view request,
                                                             absl::Time now,
                                                             absl::Duration lifetime) const {
  CertificateProfile profile;
  profile.use = CertificateProfile::Use::kPeer;  // agents of a job's workers serve each other
  profile.common_name = "muster worker";
  profile.dns_names = {WorkerServerName(identity.job_uid, identity.index)};
  profile.uris = {ToUri(identity)};
  profile.not_before = now - kSkew;
  profile.not_after = now + lifetime;
  return SignRequest(issuer_, request, profile);
}

absl::StatusOr<std::string> CertificateAuthority::SignNode(const NodeIdentity& identity,
                                                           std::string_view request, absl::Time now,
                                                           absl::Duration lifetime) const {
  CertificateProfile profile;
  profile.use = CertificateProfile::Use::kClient;
  profile.common_name = "muster node agent";
  profile.uris = {ToUri(identity)};
  profile.not_before = now - kSkew;
  profile.not_after = now + lifetime;
  return SignRequest(issuer_, request, profile);
}

}  // namespace muster::control
