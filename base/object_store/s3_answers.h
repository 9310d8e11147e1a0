#ifndef MUSTER_BASE_OBJECT_STORE_S3_ANSWERS_H_
#define MUSTER_BASE_OBJECT_STORE_S3_ANSWERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/object_store/http_transport.h"

namespace muster {

// One page of a list of objects.
struct ObjectPage {
  struct Object {
    std::string key;
    uint64_t size = 0;
  };
  std::vector<Object> objects;
  std::vector<std::string> prefixes;  // the common ones, with the slash at their ends
  std::string next;                   // the token of the next page; empty: this is the last
};

// One page of a list of uploads in parts that have neither been completed nor aborted.
struct UploadPage {
  struct Upload {
    std::string key;
    std::string id;
  };
  std::vector<Upload> uploads;
  std::string next_key, next_id;  // the markers of the next page; empty: this is the last
};

// InvalidArgument if the document is another one.
absl::StatusOr<ObjectPage> ParseObjectPage(std::string_view document);
absl::StatusOr<UploadPage> ParseUploadPage(std::string_view document);
absl::StatusOr<std::string> ParseUploadId(std::string_view document);
// OK if the document says that an upload was completed.
absl::Status CheckCompleted(std::string_view document);

// Formats the body that completes an upload from its parts' entity tags, in order.
std::string FormatParts(const std::vector<std::string>& etags);

// Returns the text, which is not trusted, as it may stand in an error: short, and in plain
// characters.
std::string Printable(std::string_view text);

// The verdict about one answer.
struct S3Verdict {
  absl::Status status;  // without the place, which the caller adds
  bool retry = false;   // the same request may succeed soon
  // Other keys may do: these have expired or are unknown, or the answer may mean that.
  bool keys_refused = false;
};

// Judges an answer, and the error documents that some stores send with 200. `here` is this
// machine's time, for errors that are due to its clock. NotFound: there is no such object, or no
// such upload. AlreadyExists: a condition (If-Match, If-None-Match) does not hold.
// FailedPrecondition and PermissionDenied: somebody has to change something first.
S3Verdict JudgeAnswer(const HttpAnswer& answer, absl::Time here);

}  // namespace muster

#endif  // MUSTER_BASE_OBJECT_STORE_S3_ANSWERS_H_
