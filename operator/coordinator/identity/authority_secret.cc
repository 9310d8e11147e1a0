#include "operator/coordinator/identity/authority_secret.h"

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

absl::StatusOr<CertificateAuthority> FromSecret(const Json& secret) {
  std::string certificate;
  std::string key;
  const auto data = [&](const char* field, std::string& out) {
    return absl::Base64Unescape(kube::StringAt(secret, {"data", field}), &out) && !out.empty();
  };
  absl::StatusOr<CertificateAuthority> authority =
      absl::InvalidArgumentError("it must have tls.crt and tls.key in base64");
  if (data("tls.crt", certificate) && data("tls.key", key)) {
    authority = CertificateAuthority::FromPem(certificate, key);
  }
  if (authority.ok()) return authority;
  return absl::InvalidArgumentError(absl::StrCat(
      "Secret ", kube::ToString(kube::KeyOf(secret)), " does not hold a certificate authority: ",
      authority.status().message(), "; repair it, or delete it to have a new one made"));
}

Json ToSecret(const CertificateAuthority& authority, const kube::ObjectKey& key) {
  Json secret = kube::NewObject(kube::kSecrets, key);
  kube::SetLabel(secret, "app.kubernetes.io/part-of", "muster");
  secret["type"] = "kubernetes.io/tls";
  secret["data"] = {{"tls.crt", absl::Base64Escape(authority.bundle_pem())},
                    {"tls.key", absl::Base64Escape(authority.key_pem())}};
  return secret;
}

}  // namespace

absl::StatusOr<CertificateAuthority> LoadOrCreateAuthority(kube::Api& api,
                                                           const std::string& name_space,
                                                           absl::Time now) {
  const kube::ObjectKey key{name_space, kAuthoritySecret};
  absl::StatusOr<Json> secret = api.Get(kube::kSecrets, key);
  if (absl::IsNotFound(secret.status())) {
    MUSTER_ASSIGN_OR_RETURN(CertificateAuthority made, CertificateAuthority::Make(now));
    const absl::StatusOr<Json> stored = api.Create(kube::kSecrets, ToSecret(made, key));
    if (stored.ok()) {
      MUSTER_LOG(INFO, "certificate authority made", {"secret", kube::ToString(key)});
      return made;
    }
    // Another replica was first, or the answer to this write was lost: the stored authority counts.
    secret = api.Get(kube::kSecrets, key);
    if (absl::IsNotFound(secret.status())) secret = stored.status();
  }
  if (!secret.ok()) {
    return kube::Annotate(secret.status(),
                          absl::StrCat("cannot read Secret ", kube::ToString(key)));
  }
  return FromSecret(*secret);
}

}  // namespace muster::control
