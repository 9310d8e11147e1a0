#include "agent/notices/google_notices.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr char kFlavor[] = "Google";
constexpr char kPreemptedPath[] = "/computeMetadata/v1/instance/preempted";
constexpr char kMaintenancePath[] = "/computeMetadata/v1/instance/maintenance-event";
constexpr char kTerminate[] = "TERMINATE_ON_HOST_MAINTENANCE";

}  // namespace

absl::StatusOr<std::string> GoogleNotices::Read(const std::string& path) const {
  MUSTER_ASSIGN_OR_RETURN(const MetadataAnswer answer,
                          client_.Get(path, {{"Metadata-Flavor", kFlavor}}));
  if (answer.status != 200) {
    return absl::UnavailableError(absl::StrCat(path, ": status ", answer.status));
  }
  // Answers of the real service have it, those of a proxy on the way do not.
  if (answer.flavor != kFlavor) {
    return absl::UnavailableError(absl::StrCat(path, ": the answer is not Google's"));
  }
  return std::string(absl::StripAsciiWhitespace(answer.body));
}

absl::Status GoogleNotices::Probe() { return Read(kPreemptedPath).status(); }

Notice GoogleNotices::Since(std::optional<absl::Time>& first, absl::Time wall,
                            absl::Duration warning, const char* kind, const char* text) const {
  if (!first) first = wall;
  return {kind, cloud(), *first + warning, text};
}

absl::StatusOr<std::optional<Notice>> GoogleNotices::Poll(absl::Time wall) {
  MUSTER_ASSIGN_OR_RETURN(const std::string preempted, Read(kPreemptedPath));
  MUSTER_ASSIGN_OR_RETURN(const std::string maintenance, Read(kMaintenancePath));
  if (preempted != "TRUE" && preempted != "FALSE") {
    return absl::InvalidArgumentError(absl::StrCat(kPreemptedPath, ": wants TRUE or FALSE, not ",
                                                   preempted.substr(0, kMaxNoticeText)));
  }
  // Other values of maintenance-event are a migration, or of a time that is yet to come.
  if (preempted != "TRUE") preempted_.reset();
  if (maintenance != kTerminate) maintenance_.reset();
  if (preempted == "TRUE") {
    return Since(preempted_, wall, kPreemptedWarning, kReclaim, "the instance is preempted");
  }
  if (maintenance == kTerminate) {
    return Since(maintenance_, wall, kMaintenanceWarning, kMaintenance, kTerminate);
  }
  return std::nullopt;
}

}  // namespace muster::agent
