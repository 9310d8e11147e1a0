#include "agent/notices/aws_notices.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr char kTokenPath[] = "/latest/api/token";
constexpr char kActionPath[] = "/latest/meta-data/spot/instance-action";
constexpr char kRebalancePath[] = "/latest/meta-data/events/recommendations/rebalance";
// Tokens have 56 characters.
constexpr size_t kMaxToken = 1024;

bool IsToken(const std::string& text) {
  return !text.empty() && text.size() <= kMaxToken &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

}  // namespace

absl::StatusOr<Notice> ParseInstanceAction(const std::string& body, absl::Time wall) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(body, MetadataClient::kMaxBody));
  const std::string action = StringField(json, "action");
  if (action != "terminate" && action != "stop" && action != "hibernate") {
    return absl::InvalidArgumentError(absl::StrCat("spot/instance-action: the action is ",
                                                   action.substr(0, kMaxNoticeText),
                                                   "; want terminate, stop or hibernate"));
  }
  Notice notice{kReclaim, "AWS", std::nullopt, absl::StrCat("spot instance-action ", action)};
  if (action == "hibernate") {
    notice.deadline = wall;
    return notice;
  }
  const std::string text = StringField(json, "time");
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat("spot/instance-action: the time is ",
                                                   text.substr(0, kMaxNoticeText),
                                                   "; want a time as in RFC 3339"));
  }
  notice.deadline = time;
  return notice;
}

absl::Status AwsNotices::FetchToken() {
  token_.clear();
  MUSTER_ASSIGN_OR_RETURN(
      const MetadataAnswer answer,
      client_.Put(kTokenPath, {{"X-aws-ec2-metadata-token-ttl-seconds",
                                absl::StrCat(absl::ToInt64Seconds(kTokenLife))}}));
  if (answer.status != 200 || !IsToken(answer.body)) {
    return absl::UnavailableError(
        absl::StrCat(kTokenPath, ": no token, but status ", answer.status));
  }
  token_ = answer.body;
  return absl::OkStatus();
}

absl::Status AwsNotices::Probe() { return FetchToken(); }

absl::StatusOr<std::optional<std::string>> AwsNotices::Read(const std::string& path,
                                                            absl::Time wall) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (token_.empty() || wall >= renew_) {
      MUSTER_RETURN_IF_ERROR(FetchToken());
      renew_ = wall + kTokenLife / 2;
    }
    MUSTER_ASSIGN_OR_RETURN(MetadataAnswer answer,
                            client_.Get(path, {{"X-aws-ec2-metadata-token", token_}}));
    if (answer.status == 200) return std::move(answer.body);
    if (answer.status == 404) return std::nullopt;
    if (answer.status != 401) {
      return absl::UnavailableError(absl::StrCat(path, ": status ", answer.status));
    }
    token_.clear();
  }
  return absl::UnavailableError(absl::StrCat(path, ": the service refuses the token that it gave"));
}

absl::StatusOr<std::optional<Notice>> AwsNotices::Poll(absl::Time wall) {
  MUSTER_ASSIGN_OR_RETURN(const std::optional<std::string> action, Read(kActionPath, wall));
  if (action) {
    MUSTER_ASSIGN_OR_RETURN(Notice notice, ParseInstanceAction(*action, wall));
    return notice;
  }
  if (!rebalance_) return std::nullopt;
  MUSTER_ASSIGN_OR_RETURN(const std::optional<std::string> rebalance, Read(kRebalancePath, wall));
  if (!rebalance) return std::nullopt;
  // Its noticeTime is when AWS said it, not when the instance goes.
  return Notice{kRebalance, "AWS", std::nullopt, "rebalance recommendation"};
}

}  // namespace muster::agent
