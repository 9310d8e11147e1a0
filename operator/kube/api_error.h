#ifndef MUSTER_OPERATOR_KUBE_API_ERROR_H_
#define MUSTER_OPERATOR_KUBE_API_ERROR_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::kube {

// The reason for which an API call failed, named as in metav1.StatusReason. CodeOf() returns the
// absl code that each maps to. The reason travels as a payload of the status, so adding context
// keeps it only if the payload is copied too (see Annotate).
//
//   reason              HTTP  absl code            what the caller should do
//   BadRequest          400   kInvalidArgument     a bug here
//   Unauthorized        401   kUnauthenticated     reload the token
//   Forbidden           403   kPermissionDenied    report, back off
//   NotFound            404   kNotFound
//   MethodNotAllowed    405   kUnimplemented
//   AlreadyExists       409   kAlreadyExists       read it, decide again
//   Conflict            409   kAborted             read it, decide again
//   Expired             410   kOutOfRange          list again
//   TooLarge            413   kInvalidArgument
//   Invalid             422   kInvalidArgument     report the message to the user
//   TooManyRequests     429   kResourceExhausted   wait RetryAfterOf(), try again
//   InternalError       500   kInternal            back off
//   ServiceUnavailable  503   kUnavailable         back off
//   Timeout             504   kDeadlineExceeded    the write may or may not have happened: read it
//   WatchClosed         -     kUnavailable         watch again from the last version seen
enum class Reason {
  kUnknown,
  kBadRequest,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kMethodNotAllowed,
  kAlreadyExists,
  kConflict,
  kExpired,
  kTooLarge,
  kInvalid,
  kTooManyRequests,
  kInternalError,
  kServiceUnavailable,
  kTimeout,
  kWatchClosed,
};

std::string_view Name(Reason reason);
absl::StatusCode CodeOf(Reason reason);
// Interprets a metav1.Status: the reason word decides, or the HTTP code if the word is empty or
// unknown.
Reason ReasonFromKubernetes(std::string_view reason_word, int http_code);

absl::Status ApiError(Reason reason, std::string_view message);
absl::Status TooManyRequests(std::string_view message, absl::Duration retry_after);

// Returns kUnknown for OK and for a status that did not come from a kube::Api.
Reason ReasonOf(const absl::Status& status);
std::optional<absl::Duration> RetryAfterOf(const absl::Status& status);

// Puts "context: " before the message, keeping code, reason and retry-after.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// Returns true if the same call may succeed later without a new decision.
bool IsRetriable(const absl::Status& status);

// Returns the beginning of an unexpected answer, short and printable, for an error message.
std::string Quoted(std::string_view body);

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_API_ERROR_H_
