#include "base/object_store/place.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_store/object_uri.h"

namespace muster {
namespace {

constexpr absl::string_view kFile = "file:///";

// `$` stands for itself unless a shell, or Kubernetes in $(NAME), would take what follows for a
// name.
bool HasVariable(absl::string_view text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const char next = text[i + 1];
    if (text[i] == '$' && (absl::ascii_isalpha(next) || absl::StrContains("_{(", next)))
      return true;
  }
  return false;
}

// Returns "gs://" or "hdfs:/", with which the text begins; empty if it begins like a path.
std::string SchemeOf(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos || slash == 0 || text[slash - 1] != ':') return "";
  const bool two = text.substr(slash, 2) == "//";
  return std::string(text.substr(0, slash + (two ? 2 : 1)));
}

std::string Wanted(PlaceKind kind) {
  return kind == PlaceKind::kPath ? "a path or file:///PATH"
                                  : "a path, file:///PATH or s3://BUCKET/PREFIX";
}

std::optional<std::string> WhyNoScheme(absl::string_view text, PlaceKind kind) {
  const std::string scheme = SchemeOf(text);
  if (scheme.empty() && !absl::StrContains(text, "://")) return std::nullopt;
  const std::string lower = absl::AsciiStrToLower(scheme);
  if (kind == PlaceKind::kPath && lower == "s3://") {
    return absl::StrCat("objects of a store are read as checkpoints alone; want ", Wanted(kind),
                        ", for example on a volume of the template");
  }
  if (lower == "s3://") return "s3:// is written in small letters";
  if (absl::StartsWith(lower, "file:")) {
    return "want file:/// in small letters, with three slashes and then the path";
  }
  return scheme.empty()
             ? absl::StrCat("a path has no \"://\" inside; want ", Wanted(kind))
             : absl::StrCat("the scheme ", scheme, " is not known here; want ", Wanted(kind));
}

}  // namespace

std::optional<std::string> WhyNoPlace(absl::string_view text, PlaceKind kind) {
  if (absl::StartsWith(text, "~")) {
    return "~ is not expanded here; want the whole path, or ./~ for a folder of that name";
  }
  if (HasVariable(text)) return "variables are not expanded here; want the value in place of $";
  if (kind == PlaceKind::kPathOrObjects && IsObjectUri(std::string(text))) return std::nullopt;
  if (!absl::StartsWith(text, kFile)) return WhyNoScheme(text, kind);
  if (!absl::StrContains(text, "%")) return std::nullopt;
  return "file:///PATH has the path itself; want the characters in place of their %-codes";
}

std::string PlaceRule(PlaceKind kind) {
  const char* objects = kind == PlaceKind::kPath ? "" : "self.startsWith('s3://') || ";
  return absl::StrCat("!self.matches('^~|[$][A-Za-z_{(]') && (", objects,
                      "(self.startsWith('file:///') ? !self.contains('%') : "
                      "!self.matches('^[^/]+:/|://')))");
}

std::string PlaceMessage(PlaceKind kind) {
  return absl::StrCat("want ", Wanted(kind),
                      ": no other scheme is known, and ~ and $NAME are not expanded");
}

std::string WithoutFileScheme(absl::string_view text) {
  const bool file = absl::StartsWith(text, kFile);
  return std::string(file ? text.substr(kFile.size() - 1) : text);
}

}  // namespace muster
