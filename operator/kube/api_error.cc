#include "operator/kube/api_error.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::kube {
namespace {

constexpr char kReasonUrl[] = "muster.dev/kube-reason";
constexpr size_t kMaxQuoted = 200;
constexpr char kRetryAfterUrl[] = "muster.dev/kube-retry-after-ms";

struct Row {
  Reason reason;
  const char* name;
  int http;
  absl::StatusCode code;
};

constexpr Row kRows[] = {
    {Reason::kBadRequest, "BadRequest", 400, absl::StatusCode::kInvalidArgument},
    {Reason::kUnauthorized, "Unauthorized", 401, absl::StatusCode::kUnauthenticated},
    {Reason::kForbidden, "Forbidden", 403, absl::StatusCode::kPermissionDenied},
    {Reason::kNotFound, "NotFound", 404, absl::StatusCode::kNotFound},
    {Reason::kMethodNotAllowed, "MethodNotAllowed", 405, absl::StatusCode::kUnimplemented},
    {Reason::kConflict, "Conflict", 409, absl::StatusCode::kAborted},
    {Reason::kAlreadyExists, "AlreadyExists", 409, absl::StatusCode::kAlreadyExists},
    {Reason::kExpired, "Expired", 410, absl::StatusCode::kOutOfRange},
    {Reason::kExpired, "Gone", 410, absl::StatusCode::kOutOfRange},
    {Reason::kTooLarge, "RequestEntityTooLarge", 413, absl::StatusCode::kInvalidArgument},
    {Reason::kInvalid, "Invalid", 422, absl::StatusCode::kInvalidArgument},
    {Reason::kTooManyRequests, "TooManyRequests", 429, absl::StatusCode::kResourceExhausted},
    {Reason::kInternalError, "InternalError", 500, absl::StatusCode::kInternal},
    {Reason::kServiceUnavailable, "ServiceUnavailable", 503, absl::StatusCode::kUnavailable},
    {Reason::kTimeout, "Timeout", 504, absl::StatusCode::kDeadlineExceeded},
    {Reason::kTimeout, "ServerTimeout", 504, absl::StatusCode::kDeadlineExceeded},
    {Reason::kWatchClosed, "WatchClosed", 0, absl::StatusCode::kUnavailable},
};

// Uses Cord's string_view constructor: gcc and clang mangle the std::string one differently, and
// Debian's library is gcc's.
absl::Cord TextCord(const std::string& text) { return absl::Cord(absl::string_view(text)); }

const Row* RowOf(Reason reason) {
  for (const Row& row : kRows) {
    if (row.reason == reason) return &row;
  }
  return nullptr;
}

}  // namespace

std::string_view Name(Reason reason) {
  const Row* row = RowOf(reason);
  return row == nullptr ? "Unknown" : row->name;
}

absl::StatusCode CodeOf(Reason reason) {
  const Row* row = RowOf(reason);
  return row == nullptr ? absl::StatusCode::kUnknown : row->code;
}

Reason ReasonFromKubernetes(std::string_view reason_word, int http_code) {
  for (const Row& row : kRows) {
    if (row.http != 0 && reason_word == row.name) return row.reason;
  }
  for (const Row& row : kRows) {
    if (row.http != 0 && http_code == row.http) return row.reason;
  }
  if (http_code >= 500) return Reason::kInternalError;
  return Reason::kUnknown;
}

absl::Status ApiError(Reason reason, std::string_view message) {
  absl::Status status(CodeOf(reason), std::string(message));
  status.SetPayload(kReasonUrl, TextCord(std::string(Name(reason))));
  return status;
}

absl::Status TooManyRequests(std::string_view message, absl::Duration retry_after) {
  absl::Status status = ApiError(Reason::kTooManyRequests, message);
  status.SetPayload(kRetryAfterUrl, TextCord(absl::StrCat(absl::ToInt64Milliseconds(retry_after))));
  return status;
}

Reason ReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonUrl);
  if (!payload.has_value()) return Reason::kUnknown;
  const std::string name(*payload);
  for (const Row& row : kRows) {
    if (name == row.name) return row.reason;
  }
  return Reason::kUnknown;
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterUrl);
  int64_t ms = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &ms)) return std::nullopt;
  return absl::Milliseconds(ms);
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(std::string(context), ": ", status.message()));
  status.ForEachPayload(
      [&](auto url, const absl::Cord& value) { annotated.SetPayload(url, value); });
  return annotated;
}

bool IsRetriable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

std::string Quoted(std::string_view body) {
  std::string text(body.substr(0, kMaxQuoted));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = ' ';
  }
  return text;
}

}  // namespace muster::kube
