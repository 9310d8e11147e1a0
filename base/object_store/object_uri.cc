#include "base/object_store/object_uri.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr size_t kMostKeyBytes = 1024;

bool IsLetterOrDigit(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

bool LooksLikeAnAddress(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return !part.empty() && std::all_of(part.begin(), part.end(), absl::ascii_isdigit);
         });
}

absl::Status CheckBucket(const std::string& name) {
  const auto bad = [&name](const char* rule) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bucket's name \"", name, "\" is not valid: ", rule));
  };
  if (name.size() < 3 || name.size() > 63) return bad("it must have 3 to 63 characters");
  for (const char c : name) {
    if (!IsLetterOrDigit(c) && c != '-' && c != '.') {
      return bad("it may have only lower-case letters, digits, '-' and '.'");
    }
  }
  if (!IsLetterOrDigit(name.front()) || !IsLetterOrDigit(name.back())) {
    return bad("it must begin and end with a letter or a digit");
  }
  if (name.find("..") != std::string::npos) return bad("it may not have two dots in a row");
  if (LooksLikeAnAddress(name)) return bad("it may not look like an IP address");
  return absl::OkStatus();
}

absl::Status CheckKey(const std::string& key) {
  if (key.empty()) return absl::OkStatus();
  if (key.size() > kMostKeyBytes) {
    return absl::InvalidArgumentError("the part after the bucket has more than 1024 bytes");
  }
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(key, '/'))) {
    if (part.empty() || part == "." || part == "..") {
      return absl::InvalidArgumentError(
          "the part after the bucket may have no empty part, no \".\" and no \"..\"");
    }
  }
  if (std::any_of(key.begin(), key.end(), absl::ascii_iscntrl)) {
    return absl::InvalidArgumentError("the part after the bucket has a control character");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ObjectUri> ParseObjectUri(std::string_view uri) {
  if (!IsObjectUri(uri)) return absl::InvalidArgumentError("it must begin with s3://");
  uri.remove_prefix(kScheme.size());
  const size_t slash = uri.find('/');
  ObjectUri parsed;
  parsed.bucket = std::string(uri.substr(0, slash));
  if (slash != std::string_view::npos) parsed.key = std::string(uri.substr(slash + 1));
  if (!parsed.key.empty() && parsed.key.back() == '/') parsed.key.pop_back();
  if (absl::Status bucket = CheckBucket(parsed.bucket); !bucket.ok()) return bucket;
  if (absl::Status key = CheckKey(parsed.key); !key.ok()) return key;
  return parsed;
}

std::string ToText(const ObjectUri& uri) {
  return absl::StrCat(std::string(kScheme), uri.bucket, uri.key.empty() ? "" : "/", uri.key);
}

}  // namespace muster
