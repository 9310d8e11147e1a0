#ifndef MUSTER_BASE_TLS_X509_H_
#define MUSTER_BASE_TLS_X509_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// The small part of X.509 with which programs prove their identity: keys, signing requests and
// certificates, as PEM text. Keys are ECDSA on P-256, signatures use SHA-256. It hides OpenSSL's
// types in x509.cc. Input may be hostile: sizes are bounded, and errors carry a sentence.
namespace muster {

// A private key. Copies share the key, which never changes. Thread-safe.
class PrivateKey {
 public:
  static absl::StatusOr<PrivateKey> Generate();
  // kInvalidArgument unless it is a P-256 key without a pass phrase.
  static absl::StatusOr<PrivateKey> FromPem(std::string_view pem);

  // Returns PKCS #8. It is secret: never log it.
  std::string ToPem() const;
  // Returns an OpenSSL EVP_PKEY.
  void* native() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<void> key) : key_(std::move(key)) {}
  std::shared_ptr<void> key_;
};

// Makes a PKCS #10 request, signed with `key` to prove that the requester holds it.
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

// Reads the first certificate of `pem`; more may follow it.
absl::StatusOr<CertificateInfo> ReadCertificate(std::string_view pem);
bool KeyMatches(const PrivateKey& key, std::string_view certificate_pem);

// The contents of a certificate to be issued. Its serial number is random.
struct CertificateProfile {
  // A peer is a client and a server.
  enum class Use { kAuthority, kServer, kClient, kPeer };
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
// Issues a certificate for the public half of `key`.
absl::StatusOr<std::string> SignKey(const Issuer& issuer, const PrivateKey& key,
                                    const CertificateProfile& profile);
// Verifies a request's signature and certifies its key; nothing else of the request is used.
// kInvalidArgument if it is malformed, not signed by its key, or not for a P-256 key.
absl::StatusOr<std::string> SignRequest(const Issuer& issuer, std::string_view request_pem,
                                        const CertificateProfile& profile);

}  // namespace muster

#endif  // MUSTER_BASE_TLS_X509_H_
