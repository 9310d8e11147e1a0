#include "base/tls/x509.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMaxPemBytes = 64 << 10;
constexpr int kSerialBits = 127;

struct Deleter {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_REQ* p) const { X509_REQ_free(p); }
  void operator()(X509_NAME* p) const { X509_NAME_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(BIGNUM* p) const { BN_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

// Drains OpenSSL's error queue of this thread and returns its text.
std::string WhatOpenSslSays() {
  std::vector<std::string> lines;
  while (const unsigned long code = ERR_get_error()) {
    char text[256];
    ERR_error_string_n(code, text, sizeof(text));
    lines.emplace_back(text);
  }
  return lines.empty() ? "no reason given" : absl::StrJoin(lines, "; ");
}
absl::Status OpenSslError(const char* what) {
  return absl::InternalError(absl::StrCat(what, ": ", WhatOpenSslSays()));
}
absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", WhatOpenSslSays()));
}

EVP_PKEY* Native(const PrivateKey& key) { return static_cast<EVP_PKEY*>(key.native()); }

// A PEM with a pass phrase must fail, not ask on the terminal.
int NoPassPhrase(char*, int, int, void*) { return 0; }

absl::StatusOr<Owned<BIO>> Reader(std::string_view pem, const char* what) {
  if (pem.empty() || pem.size() > kMaxPemBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have 1 to ", kMaxPemBytes, " bytes, not ", pem.size()));
  }
  return Owned<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

std::string TakeText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::Status CheckP256(EVP_PKEY* key) {
  char group[32] = "";
  size_t size = 0;
  if (EVP_PKEY_base_id(key) == EVP_PKEY_EC &&
      EVP_PKEY_get_group_name(key, group, sizeof(group), &size) == 1 &&
      std::strcmp(group, "prime256v1") == 0) {
    return absl::OkStatus();
  }
  ERR_clear_error();
  return absl::InvalidArgumentError("the key must be an elliptic curve key on P-256");
}

absl::StatusOr<Owned<X509>> ParseCertificate(std::string_view pem) {
  MUSTER_ASSIGN_OR_RETURN(const Owned<BIO> bio, Reader(pem, "a certificate"));
  Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassPhrase, nullptr));
  if (certificate == nullptr) return Malformed("not a PEM certificate");
  return certificate;
}

absl::StatusOr<Owned<X509_NAME>> MakeName(const std::string& common_name) {
  Owned<X509_NAME> name(X509_NAME_new());
  const auto* text = reinterpret_cast<const unsigned char*>(common_name.data());
  if (X509_NAME_add_entry_by_txt(name.get(), "CN", MBSTRING_UTF8, text,
                                 static_cast<int>(common_name.size()), -1, 0) != 1) {
    return Malformed("the common name cannot be used");
  }
  return name;
}

absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return OpenSslError("cannot add a certificate extension");
  }
  return absl::OkStatus();
}

absl::Status AddName(GENERAL_NAMES* names, int type, const std::string& value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  if (ASN1_STRING_set(text, value.data(), static_cast<int>(value.size())) != 1) {
    ASN1_IA5STRING_free(text);
    GENERAL_NAME_free(name);
    return OpenSslError("cannot store a name");
  }
  GENERAL_NAME_set0_value(name, type, text);  // owns `text` now
  if (sk_GENERAL_NAME_push(names, name) == 0) {
    GENERAL_NAME_free(name);
    return OpenSslError("cannot store a name");
  }
  return absl::OkStatus();
}

// Values are never passed as text of OpenSSL's configuration language, which a name could escape.
absl::Status AddAlternativeNames(X509* certificate, const CertificateProfile& profile) {
  if (profile.dns_names.empty() && profile.uris.empty()) return absl::OkStatus();
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  for (const std::string& dns : profile.dns_names) {
    MUSTER_RETURN_IF_ERROR(AddName(names.get(), GEN_DNS, dns));
  }
  for (const std::string& uri : profile.uris) {
    MUSTER_RETURN_IF_ERROR(AddName(names.get(), GEN_URI, uri));
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1) {
    return OpenSslError("cannot add the alternative names");
  }
  return absl::OkStatus();
}

const char* ExtendedUse(CertificateProfile::Use use) {
  switch (use) {
    case CertificateProfile::Use::kServer:
      return "serverAuth";
    case CertificateProfile::Use::kPeer:
      return "clientAuth,serverAuth";
    case CertificateProfile::Use::kClient:
    case CertificateProfile::Use::kAuthority:
      break;
  }
  return "clientAuth";
}

absl::Status AddUse(X509* certificate, X509* issuer, CertificateProfile::Use use) {
  const bool authority = use == CertificateProfile::Use::kAuthority;
  MUSTER_RETURN_IF_ERROR(
      AddExtension(certificate, issuer, NID_basic_constraints,
                   authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE"));
  MUSTER_RETURN_IF_ERROR(
      AddExtension(certificate, issuer, NID_key_usage,
                   authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"));
  MUSTER_RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_subject_key_identifier, "hash"));
  if (authority) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(
      AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  return AddExtension(certificate, issuer, NID_ext_key_usage, ExtendedUse(use));
}

absl::Status SetSerial(X509* certificate) {
  const Owned<BIGNUM> serial(BN_new());
  if (BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return OpenSslError("cannot make a serial number");
  }
  return absl::OkStatus();
}

// `issuer` is null for a self-signed certificate.
absl::StatusOr<std::string> Sign(X509* issuer, EVP_PKEY* issuer_key, EVP_PKEY* public_key,
                                 const CertificateProfile& profile) {
  const Owned<X509> certificate(X509_new());
  X509* raw = certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  MUSTER_RETURN_IF_ERROR(SetSerial(raw));
  MUSTER_ASSIGN_OR_RETURN(const Owned<X509_NAME> name, MakeName(profile.common_name));
  X509_set_subject_name(raw, name.get());
  X509_set_issuer_name(raw, issuer == nullptr ? name.get() : X509_get_subject_name(issuer));
  ASN1_TIME_set(X509_getm_notBefore(raw), absl::ToTimeT(profile.not_before));
  ASN1_TIME_set(X509_getm_notAfter(raw), absl::ToTimeT(profile.not_after));
  X509_set_pubkey(raw, public_key);
  MUSTER_RETURN_IF_ERROR(AddUse(raw, issuer == nullptr ? raw : issuer, profile.use));
  MUSTER_RETURN_IF_ERROR(AddAlternativeNames(raw, profile));
  if (X509_sign(raw, issuer_key, EVP_sha256()) == 0) return OpenSslError("cannot sign");
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(out.get(), raw) != 1) return OpenSslError("cannot write a certificate");
  return TakeText(out.get());
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm tm = {};
  if (ASN1_TIME_to_tm(time, &tm) != 1) return absl::InfinitePast();
  return absl::FromTM(tm, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<PrivateKey> PrivateKey::Generate() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return PrivateKey(std::shared_ptr<void>(std::shared_ptr<EVP_PKEY>(std::move(key))));
}

absl::StatusOr<PrivateKey> PrivateKey::FromPem(std::string_view pem) {
  MUSTER_ASSIGN_OR_RETURN(const Owned<BIO> bio, Reader(pem, "a private key"));
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassPhrase, nullptr));
  if (key == nullptr) return Malformed("not a PEM private key");
  MUSTER_RETURN_IF_ERROR(CheckP256(key.get()));
  return PrivateKey(std::shared_ptr<void>(std::shared_ptr<EVP_PKEY>(std::move(key))));
}

std::string PrivateKey::ToPem() const {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(out.get(), Native(*this), nullptr, nullptr, 0, nullptr, nullptr);
  return TakeText(out.get());
}

absl::StatusOr<std::string> MakeSigningRequest(const PrivateKey& key,
                                               const std::string& common_name) {
  const Owned<X509_REQ> request(X509_REQ_new());
  MUSTER_ASSIGN_OR_RETURN(const Owned<X509_NAME> name, MakeName(common_name));
  X509_REQ_set_version(request.get(), X509_REQ_VERSION_1);
  X509_REQ_set_subject_name(request.get(), name.get());
  X509_REQ_set_pubkey(request.get(), Native(key));
  if (X509_REQ_sign(request.get(), Native(key), EVP_sha256()) == 0) {
    return OpenSslError("cannot sign a request");
  }
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_REQ(out.get(), request.get()) != 1) {
    return OpenSslError("cannot write a request");
  }
  return TakeText(out.get());
}

absl::StatusOr<CertificateInfo> ReadCertificate(std::string_view pem) {
  MUSTER_ASSIGN_OR_RETURN(const Owned<X509> certificate, ParseCertificate(pem));
  X509* raw = certificate.get();
  CertificateInfo info;
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(raw), NID_commonName, name, sizeof(name));
  info.common_name = name;
  info.not_before = ToTime(X509_get0_notBefore(raw));
  info.not_after = ToTime(X509_get0_notAfter(raw));
  info.is_authority = X509_check_ca(raw) == 1;
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(raw, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* text = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type != GEN_DNS && type != GEN_URI) continue;
    const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
    (type == GEN_DNS ? info.dns_names : info.uris)
        .emplace_back(data, static_cast<size_t>(ASN1_STRING_length(text)));
  }
  ERR_clear_error();
  return info;
}

bool KeyMatches(const PrivateKey& key, std::string_view certificate_pem) {
  const absl::StatusOr<Owned<X509>> certificate = ParseCertificate(certificate_pem);
  const bool matches =
      certificate.ok() && X509_check_private_key(certificate->get(), Native(key)) == 1;
  ERR_clear_error();
  return matches;
}

absl::StatusOr<std::string> SelfSign(const PrivateKey& key, const CertificateProfile& profile) {
  return Sign(nullptr, Native(key), Native(key), profile);
}

absl::StatusOr<std::string> SignKey(const Issuer& issuer, const PrivateKey& key,
                                    const CertificateProfile& profile) {
  MUSTER_ASSIGN_OR_RETURN(const Owned<X509> authority, ParseCertificate(issuer.certificate_pem));
  return Sign(authority.get(), Native(issuer.key), Native(key), profile);
}

absl::StatusOr<std::string> SignRequest(const Issuer& issuer, std::string_view request_pem,
                                        const CertificateProfile& profile) {
  MUSTER_ASSIGN_OR_RETURN(const Owned<BIO> bio, Reader(request_pem, "a signing request"));
  const Owned<X509_REQ> request(PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassPhrase, nullptr));
  if (request == nullptr) return Malformed("not a PEM signing request");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr) return Malformed("the signing request has no usable key");
  MUSTER_RETURN_IF_ERROR(CheckP256(key));
  if (X509_REQ_verify(request.get(), key) != 1) {
    return Malformed("the signing request is not signed with its own key");
  }
  MUSTER_ASSIGN_OR_RETURN(const Owned<X509> authority, ParseCertificate(issuer.certificate_pem));
  return Sign(authority.get(), Native(issuer.key), key, profile);
}

}  // namespace muster
