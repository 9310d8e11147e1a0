#include "agent/notices/azure_notices.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr char kNamePath[] = "/metadata/instance/compute/name?api-version=2021-02-01&format=text";
constexpr char kEventsPath[] = "/metadata/scheduledevents?api-version=2020-07-01";
// "Mon, 19 Sep 2016 18:29:47 GMT"
constexpr char kTimeFormat[] = "%a, %d %b %Y %H:%M:%S GMT";
constexpr size_t kMaxName = 256;

bool TakesAway(const std::string& type) {
  return type == "Preempt" || type == "Terminate" || type == "Reboot" || type == "Redeploy";
}

// Azure compares names of machines without regard to case.
bool IsAbout(const Json& event, const std::string& name) {
  const std::vector<std::string> resources = StringsField(event, "Resources");
  return std::any_of(resources.begin(), resources.end(), [&](const std::string& resource) {
    return absl::AsciiStrToLower(resource) == absl::AsciiStrToLower(name);
  });
}

absl::StatusOr<AzureEvent> ParseEvent(const Json& event) {
  AzureEvent parsed{StringField(event, "EventId"), StringField(event, "EventType"), std::nullopt};
  const std::string text = StringField(event, "NotBefore");
  if (text.empty()) return parsed;
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(kTimeFormat, text, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scheduledevents: NotBefore is ", text.substr(0, kMaxNoticeText),
                     "; want a time like Mon, 19 Sep 2016 18:29:47 GMT"));
  }
  parsed.not_before = time;
  return parsed;
}

}  // namespace

absl::StatusOr<std::vector<AzureEvent>> ParseScheduledEvents(const std::string& body,
                                                             const std::string& name) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(body, MetadataClient::kMaxBody));
  const Json* list = FindField(json, {"Events"});
  if (list == nullptr || !list->is_array()) {
    return absl::InvalidArgumentError("scheduledevents: has no list Events");
  }
  std::vector<AzureEvent> events;
  for (const Json& event : *list) {
    if (!event.is_object() || !IsAbout(event, name)) continue;
    if (!TakesAway(StringField(event, "EventType"))) continue;
    MUSTER_ASSIGN_OR_RETURN(AzureEvent parsed, ParseEvent(event));
    events.push_back(std::move(parsed));
  }
  std::stable_sort(events.begin(), events.end(), [](const AzureEvent& a, const AzureEvent& b) {
    return a.not_before.value_or(absl::InfinitePast()) <
           b.not_before.value_or(absl::InfinitePast());
  });
  return events;
}

absl::Status AzureNotices::Probe() {
  MUSTER_ASSIGN_OR_RETURN(const MetadataAnswer answer,
                          client_.Get(kNamePath, {{"Metadata", "true"}}));
  if (answer.status != 200 || answer.body.empty() || answer.body.size() > kMaxName) {
    return absl::UnavailableError(
        absl::StrCat(kNamePath, ": no machine's name, but status ", answer.status));
  }
  name_ = answer.body;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Notice>> AzureNotices::Poll(absl::Time wall) {
  if (name_.empty()) MUSTER_RETURN_IF_ERROR(Probe());
  MUSTER_ASSIGN_OR_RETURN(const MetadataAnswer answer,
                          client_.Get(kEventsPath, {{"Metadata", "true"}}));
  if (answer.status != 200) {
    return absl::UnavailableError(absl::StrCat(kEventsPath, ": status ", answer.status));
  }
  MUSTER_ASSIGN_OR_RETURN(const std::vector<AzureEvent> events,
                          ParseScheduledEvents(answer.body, name_));
  if (events.empty()) return std::nullopt;
  const AzureEvent& event = events.front();
  if (event.not_before && *event.not_before - wall > kHorizon) return std::nullopt;
  if (!event.not_before && started_ != event.id) {
    started_ = event.id;
    started_at_ = wall;
  }
  const bool reclaim = event.type == "Preempt" || event.type == "Terminate";
  return Notice{
      reclaim ? kReclaim : kMaintenance, "Azure", event.not_before.value_or(started_at_),
      absl::StrCat("scheduled event ", event.type, " ", event.id).substr(0, kMaxNoticeText)};
}

}  // namespace muster::agent
