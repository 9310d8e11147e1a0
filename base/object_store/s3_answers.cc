#include "base/object_store/s3_answers.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/object_store/xml_reader.h"
#include "base/status_macros.h"

namespace muster {
namespace {

constexpr size_t kMostMessage = 300;

absl::StatusOr<XmlElement> ReadDocument(std::string_view document, const char* name) {
  MUSTER_ASSIGN_OR_RETURN(XmlElement root, ReadXml(document));
  if (root.name == name) return root;
  return absl::InvalidArgumentError(
      absl::StrCat("the store sent a document ", Printable(root.name), ", not ", name));
}

struct S3Error {
  std::string code, message, region;
};

S3Error ErrorOf(const HttpAnswer& answer) {
  S3Error error;
  if (const auto found = answer.headers.find("x-amz-bucket-region");
      found != answer.headers.end()) {
    error.region = Printable(found->second);
  }
  const absl::StatusOr<XmlElement> root = ReadXml(answer.body);
  if (!root.ok() || root->name != "Error") return error;
  error.code = Printable(root->TextOf("Code"));
  error.message = Printable(root->TextOf("Message"));
  if (error.region.empty()) error.region = Printable(root->TextOf("Region"));
  return error;
}

bool IsOneOf(const std::string& code, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string Quote(const HttpAnswer& answer, const S3Error& error) {
  const std::string code = error.code.empty() ? "" : absl::StrCat(" ", error.code);
  const std::string message = error.message.empty() ? "" : absl::StrCat(": ", error.message);
  return absl::StrCat("the store answered ", answer.status, code, message);
}

absl::Status ClockStatus(const HttpAnswer& answer, absl::Time here) {
  std::string by;
  absl::Time there;
  std::string ignored;
  const auto date = answer.headers.find("date");
  if (date != answer.headers.end() &&
      absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", date->second, &there, &ignored)) {
    by = absl::StrCat(" by ", absl::FormatDuration(absl::Trunc(here - there, absl::Seconds(1))));
  }
  return absl::FailedPreconditionError(absl::StrCat("this machine's clock differs from the store's",
                                                    by, ", which refuses requests: set it right"));
}

// Returns the status of an error whose code names what somebody has to change.
std::optional<absl::Status> StatusOfCode(const HttpAnswer& answer, const S3Error& error,
                                         absl::Time here) {
  const std::string quoted = Quote(answer, error);
  const auto failed = [&quoted](const std::string& advice) {
    return absl::FailedPreconditionError(absl::StrCat(advice, " (", quoted, ")"));
  };
  const auto denied = [&quoted](const char* advice) {
    return absl::PermissionDeniedError(absl::StrCat(advice, " (", quoted, ")"));
  };
  if (error.code == "NoSuchBucket") return failed("there is no such bucket: create it");
  if (IsOneOf(error.code, {"RequestTimeTooSkewed", "RequestExpired"})) {
    return ClockStatus(answer, here);
  }
  if (IsOneOf(error.code, {"PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed",
                           "IllegalLocationConstraintException"})) {
    return failed(
        error.region.empty()
            ? "the bucket is in another region or behind another endpoint: set region and "
              "endpoint of checkpoint.s3"
            : absl::StrCat("the bucket is in the region ", error.region,
                           ": set checkpoint.s3.region to it"));
  }
  // The second is what versitygw answers.
  if (IsOneOf(error.code, {"InvalidAccessKeyId", "XAdminUserNotFound"}))
    return denied("the store knows no such access key");
  if (error.code == "SignatureDoesNotMatch") {
    return denied("the secret key is not the one of this access key");
  }
  if (IsOneOf(error.code, {"ExpiredToken", "InvalidToken", "TokenRefreshRequired"})) {
    return denied("the session token has expired or is of other keys: give new ones");
  }
  if (IsOneOf(error.code,
              {"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded"})) {
    return absl::ResourceExhaustedError(absl::StrCat("the store is full (", quoted, ")"));
  }
  return std::nullopt;
}

absl::Status StatusOfNumber(const HttpAnswer& answer, const S3Error& error) {
  const std::string quoted = Quote(answer, error);
  switch (answer.status) {
    case 301:
    case 307:
    case 308:
      return absl::FailedPreconditionError(
          absl::StrCat("the bucket is elsewhere",
                       error.region.empty() ? "" : absl::StrCat(", in the region ", error.region),
                       ": set region and endpoint of checkpoint.s3 (", quoted, ")"));
    case 401:
    case 403:
      return absl::PermissionDeniedError(
          absl::StrCat("access denied: the access key may not do this (", quoted, ")"));
    case 404:
      // An answer to HEAD has no code.
      if (!IsOneOf(error.code, {"", "NoSuchKey", "NoSuchUpload", "NotFound"})) {
        return absl::FailedPreconditionError(quoted);
      }
      return absl::NotFoundError(absl::StrCat("does not exist (", quoted, ")"));
    case 409:
    case 412:
      return absl::AlreadyExistsError(absl::StrCat("exists, or was replaced (", quoted, ")"));
    case 416:
      return absl::OutOfRangeError(absl::StrCat("ends before that (", quoted, ")"));
    case 501:
      return absl::UnimplementedError(absl::StrCat("the store cannot do this (", quoted, ")"));
    case 507:
      return absl::ResourceExhaustedError(absl::StrCat("the store is full (", quoted, ")"));
    default:
      return absl::UnavailableError(quoted);
  }
}

bool MayPassSoon(const HttpAnswer& answer, const S3Error& error) {
  if (answer.status == 408 || answer.status == 429) return true;
  if (answer.status >= 500 && answer.status != 501 && answer.status != 507) return true;
  return IsOneOf(error.code, {"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable",
                              "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch",
                              "ConditionalRequestConflict", "OperationAborted"});
}

// An answer to HEAD has no code, with which it would say why.
bool MayRefuseKeys(const HttpAnswer& answer, const S3Error& error) {
  if (error.code.empty())
    return answer.status == 400 || answer.status == 401 || answer.status == 403;
  return IsOneOf(error.code, {"ExpiredToken", "InvalidToken", "TokenRefreshRequired",
                              "InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch"});
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out(text.substr(0, kMostMessage));
  for (char& c : out) {
    if (!absl::ascii_isprint(c)) c = '?';
  }
  return out;
}

absl::StatusOr<ObjectPage> ParseObjectPage(std::string_view document) {
  MUSTER_ASSIGN_OR_RETURN(const XmlElement root, ReadDocument(document, "ListBucketResult"));
  ObjectPage page;
  for (const XmlElement& child : root.children) {
    if (child.name == "CommonPrefixes") page.prefixes.push_back(child.TextOf("Prefix"));
    if (child.name != "Contents") continue;
    ObjectPage::Object& object = page.objects.emplace_back();
    object.key = child.TextOf("Key");
    if (!absl::SimpleAtoi(child.TextOf("Size"), &object.size)) {
      return absl::InvalidArgumentError("the store sent an object without its size");
    }
  }
  if (root.TextOf("IsTruncated") != "true") return page;
  page.next = root.TextOf("NextContinuationToken");
  if (page.next.empty()) {
    return absl::InvalidArgumentError("the store sent a part of a list without its next token");
  }
  return page;
}

absl::StatusOr<UploadPage> ParseUploadPage(std::string_view document) {
  MUSTER_ASSIGN_OR_RETURN(const XmlElement root,
                          ReadDocument(document, "ListMultipartUploadsResult"));
  UploadPage page;
  for (const XmlElement& child : root.children) {
    if (child.name != "Upload") continue;
    page.uploads.push_back({child.TextOf("Key"), child.TextOf("UploadId")});
  }
  if (root.TextOf("IsTruncated") != "true") return page;
  page.next_key = root.TextOf("NextKeyMarker");
  page.next_id = root.TextOf("NextUploadIdMarker");
  if (page.next_key.empty()) {
    return absl::InvalidArgumentError("the store sent a part of a list without its next marker");
  }
  return page;
}

absl::StatusOr<std::string> ParseUploadId(std::string_view document) {
  MUSTER_ASSIGN_OR_RETURN(const XmlElement root,
                          ReadDocument(document, "InitiateMultipartUploadResult"));
  std::string id = root.TextOf("UploadId");
  if (id.empty()) return absl::InvalidArgumentError("the store began an upload without an id");
  return id;
}

absl::Status CheckCompleted(std::string_view document) {
  return ReadDocument(document, "CompleteMultipartUploadResult").status();
}

std::string FormatParts(const std::vector<std::string>& etags) {
  std::string out = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags.size(); ++i) {
    std::string etag;
    for (const char c : etags[i]) {
      if (c == '"') etag += "&quot;";
      if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') etag += c;
    }
    absl::StrAppend(&out, "<Part><ETag>", etag, "</ETag><PartNumber>", i + 1,
                    "</PartNumber></Part>");
  }
  return absl::StrCat(out, "</CompleteMultipartUpload>");
}

S3Verdict JudgeAnswer(const HttpAnswer& answer, absl::Time here) {
  const bool good = answer.status >= 200 && answer.status < 300;
  const auto type = answer.headers.find("content-type");
  const bool document = type != answer.headers.end() && absl::StrContains(type->second, "xml");
  // An error that comes to light late has the status 200 and a document of its own.
  if (good && !document) return {absl::OkStatus()};
  const S3Error error = ErrorOf(answer);
  if (good) {
    if (error.code.empty()) return {absl::OkStatus()};
    return {absl::UnavailableError(Quote(answer, error)), true};
  }
  S3Verdict verdict;
  verdict.retry = MayPassSoon(answer, error);
  verdict.keys_refused = MayRefuseKeys(answer, error);
  const std::optional<absl::Status> known = StatusOfCode(answer, error, here);
  verdict.status = known ? *known : StatusOfNumber(answer, error);
  if (verdict.retry) verdict.status = absl::UnavailableError(verdict.status.message());
  return verdict;
}

}  // namespace muster
