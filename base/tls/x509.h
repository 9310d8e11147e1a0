#ifndef MUSTER_BASE_TLS_X509_H_
#define MUSTER_BASE_TLS_X509_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// The little of X.509 that programs use to prove who they are: keys, signing requests and
// certificates, as PEM text. Keys are ECDSA on P-256, signatures SHA-256. A seam to OpenSSL, whose
// types stay in x509.cc. Input may be hostile: sizes are bounded, failures carry a sentence.
namespace muster {

// A private key. A value: copies share the key, which never changes. Thread-safe.
class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Generate();
  // kInvalidArgument when it is not a P-256 key without a pass phrase.
  static absl::StatusOr<PrivateKey> FromPem(std::string_view pem);

  // PKCS #8. Secret: never log it.
  std::string ToPem() const;
  // An OpenSSL EVP_PKEY.
  void* native() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;
};

// A PKCS #10 request, signed with `key` to prove that the asker holds it.
absl::StatusOr<std::string> MakeSigningRequest(const PrivateKey& key,
                                               const std::string& common_name);

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> uris;
  absl::Time not_before;
  absl::Time not_after;
  bool is_authority = false;
};

// The first certificate of `pem`; more may follow it.
absl::StatusOr<CertificateInfo> ReadCertificate(std::string_view pem);
bool KeyMatches(const PrivateKey& key, std::string_view certificate_pem);

// What a certificate is to say. Its serial number is random.
struct CertificateProfile {
  enum class Use { kAuthority, kServer, kClient };
  Use use = Use::kClient;
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> uris;
  absl::Time not_before;
  absl::Time not_after;
};

// The issuer of a certificate: its own certificate (PEM, the first counts) and key.
struct Issuer {
  std::string certificate_pem;
  PrivateKey key;
};

absl::StatusOr<std::string> SelfSign(const PrivateKey& key, const CertificateProfile& profile);
// For the public half of `key`.
absl::StatusOr<std::string> SignKey(const Issuer& issuer, const PrivateKey& key,
                                    const CertificateProfile& profile);
// For the key of a request whose signature is verified; nothing else of the request is used.
// kInvalidArgument when the request is malformed, not signed by its key, or not for a P-256 key.
absl::StatusOr<std::string> SignRequest(const Issuer& issuer, std::string_view request_pem,
                                        const CertificateProfile& profile);

}  // namespace muster

#endif  // MUSTER_BASE_TLS_X509_H_
