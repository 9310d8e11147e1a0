#include "base/object_store/aws_signature.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/percent_encoding.h"
#include "base/secrets.h"
#include "base/sha256.h"

namespace muster {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string SignedHeaders(const RequestToSign& request) {
  std::string names;
  for (const auto& [name, value] : request.headers) {
    absl::StrAppend(&names, names.empty() ? "" : ";", name);
  }
  return names;
}

std::string CanonicalRequest(const RequestToSign& request) {
  std::string text =
      absl::StrCat(request.method, "\n", request.path, "\n", CanonicalQuery(request.query), "\n");
  for (const auto& [name, value] : request.headers) {
    absl::StrAppend(&text, name, ":", value, "\n");
  }
  return absl::StrCat(text, "\n", SignedHeaders(request), "\n", request.body_sha256);
}

std::string SigningKey(const std::string& secret, std::string_view day, std::string_view region) {
  const std::string of_day = HmacSha256(absl::StrCat("AWS4", secret), day);
  return HmacSha256(HmacSha256(HmacSha256(of_day, region), "s3"), "aws4_request");
}

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

}  // namespace

std::string AmzDate(absl::Time time) {
  return absl::FormatTime("%Y%m%dT%H%M%SZ", time, absl::UTCTimeZone());
}

std::string CanonicalQuery(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    absl::StrAppend(&out, out.empty() ? "" : "&", PercentEncode(name), "=", PercentEncode(value));
  }
  return out;
}

std::string Sha256Hex(std::string_view bytes) { return Hex(Sha256(bytes)); }

std::string AuthorizationHeader(const RequestToSign& request, const S3Credentials& credentials,
                                std::string_view region, absl::Time time) {
  const std::string date = AmzDate(time), day = date.substr(0, 8);
  const std::string scope = absl::StrCat(day, "/", std::string(region), "/s3/aws4_request");
  const std::string text =
      absl::StrCat(kAlgorithm, "\n", date, "\n", scope, "\n", Sha256Hex(CanonicalRequest(request)));
  const std::string signature = Hex(HmacSha256(SigningKey(credentials.secret, day, region), text));
  return absl::StrCat(kAlgorithm, " Credential=", credentials.key_id, "/", scope,
                      ",SignedHeaders=", SignedHeaders(request), ",Signature=", signature);
}

}  // namespace muster
