#include "cli/show/event_table.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/json_fields.h"
#include "cli/show/job_table.h"
#include "cli/show/text_table.h"
#include "operator/kube/object_meta.h"

namespace muster::cli {
namespace {

bool IsAbout(const Json& event, const std::string& job, const std::vector<std::string>& pods) {
  const std::string kind = kube::StringAt(event, {"involvedObject", "kind"});
  const std::string name = kube::StringAt(event, {"involvedObject", "name"});
  if (kind == "TrainingJob") return name == job;
  return kind == "Pod" && std::find(pods.begin(), pods.end(), name) != pods.end();
}

Row RowOf(const Json& event, absl::Time now) {
  const int64_t count = NumberField(event, "count");
  const std::string age = Age(LastTimeOf(event), now);
  return {count > 1 ? absl::StrCat(age, " (x", count, ")") : age, StringField(event, "type"),
          StringField(event, "reason"),
          absl::StrCat(kube::StringAt(event, {"involvedObject", "kind"}), "/",
                       kube::StringAt(event, {"involvedObject", "name"})),
          StringField(event, "message")};
}

}  // namespace

absl::Time LastTimeOf(const Json& event) {
  for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    const std::optional<absl::Time> time = kube::ParseTime(StringField(event, field));
    if (time) return *time;
  }
  return kube::CreationTimeOf(event).value_or(absl::InfinitePast());
}

std::vector<Json> EventsAbout(const std::vector<Json>& events, const std::string& job,
                              const std::vector<std::string>& pods) {
  std::vector<Json> about;
  for (const Json& event : events) {
    if (IsAbout(event, job, pods)) about.push_back(event);
  }
  std::stable_sort(about.begin(), about.end(),
                   [](const Json& a, const Json& b) { return LastTimeOf(a) < LastTimeOf(b); });
  return about;
}

std::vector<std::string> NamesOf(const std::vector<Json>& pods) {
  std::vector<std::string> names;
  for (const Json& pod : pods) names.push_back(kube::NameOf(pod));
  return names;
}

std::string EventTable(const std::vector<Json>& events, const std::string& job,
                       const std::vector<std::string>& pods, absl::Time now) {
  std::vector<Row> rows = {{"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"}};
  for (const Json& event : EventsAbout(events, job, pods)) rows.push_back(RowOf(event, now));
  return rows.size() == 1 ? "" : TextTable(rows);
}

}  // namespace muster::cli
