#include "agent/notices/find_source.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/notices/aws_notices.h"
#include "agent/notices/azure_notices.h"
#include "agent/notices/google_notices.h"

namespace muster::agent {
namespace {

std::unique_ptr<NoticeSource> SourceOf(const std::string& cloud, const std::string& base,
                                       bool rebalance) {
  if (cloud == "google") return std::make_unique<GoogleNotices>(base);
  if (cloud == "aws") return std::make_unique<AwsNotices>(base, rebalance);
  if (cloud == "azure") return std::make_unique<AzureNotices>(base);
  return nullptr;
}

}  // namespace

bool IsNoticesFlag(const std::string& value) {
  return value == kNoticesAuto || value == kNoticesOff || SourceOf(value, "", false) != nullptr;
}

absl::StatusOr<std::unique_ptr<NoticeSource>> FindNoticeSource(const std::string& cloud,
                                                               const std::string& base,
                                                               bool rebalance) {
  if (cloud != kNoticesAuto) {
    std::unique_ptr<NoticeSource> source = SourceOf(cloud, base, rebalance);
    if (source != nullptr) return source;
    return absl::InvalidArgumentError(absl::StrCat(cloud, ": want aws, google or azure"));
  }
  std::string reasons;
  // Google's answers name it, so it is asked first; the others' probes fail at all but their own.
  for (const char* each : {"google", "aws", "azure"}) {
    std::unique_ptr<NoticeSource> source = SourceOf(each, base, rebalance);
    const absl::Status probed = source->Probe();
    if (probed.ok()) return source;
    absl::StrAppend(&reasons, reasons.empty() ? "" : "; ", each, ": ", probed.message());
  }
  return absl::UnavailableError(absl::StrCat("no cloud's metadata service answers: ", reasons));
}

}  // namespace muster::agent
