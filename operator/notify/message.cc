#include "operator/notify/message.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace muster::control {
namespace {

// Alertmanager's form of the time of an end that has not come.
constexpr char kNever[] = "0001-01-01T00:00:00Z";

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

bool Fires(const AlertNews& news) { return news.ended == absl::InfiniteFuture(); }

Json GroupLabels(const AlertedJob& job) { return {{"namespace", job.ns}, {"job", job.name}}; }

Json Labels(const std::string& receiver, const AlertedJob& job, const JobAlert& alert) {
  Json labels = GroupLabels(job);
  labels["alertname"] = absl::StrCat("TrainingJob", alert.kind);
  labels["alert"] = alert.name;
  labels["training_job"] = absl::StrCat(job.ns, "/", job.name);
  labels["receiver"] = receiver;
  labels["severity"] = alert.suspends ? "critical" : "warning";
  return labels;
}

Json Annotations(const AlertedJob& job, const JobAlert& alert) {
  return {{"summary", absl::StrCat("Alert ", alert.name, " of job ", job.ns, "/", job.name,
                                   alert.suspends ? ", which suspends it" : "")},
          {"description", alert.message}};
}

// Keeps those fields of `common` that `other` has with the same value.
void Intersect(const Json& other, Json& common) {
  Json kept = Json::object();
  for (const auto& [name, value] : common.items()) {
    if (other.value(name, Json()) == value) kept[name] = value;
  }
  common = std::move(kept);
}

}  // namespace

Json WebhookMessage(const std::string& receiver, const AlertedJob& job,
                    const std::vector<AlertNews>& news) {
  Json alerts = Json::array();
  Json common_labels;
  Json common_annotations;
  for (const AlertNews& one : news) {
    const Json labels = Labels(receiver, job, one.alert);
    const Json annotations = Annotations(job, one.alert);
    if (alerts.empty()) {
      common_labels = labels;
      common_annotations = annotations;
    }
    Intersect(labels, common_labels);
    Intersect(annotations, common_annotations);
    alerts.push_back({{"status", Fires(one) ? "firing" : "resolved"},
                      {"labels", labels},
                      {"annotations", annotations},
                      {"startsAt", Rfc3339(one.alert.since)},
                      {"endsAt", Fires(one) ? kNever : Rfc3339(one.ended)},
                      {"generatorURL", ""},
                      {"fingerprint", ToHex(Hash64(DumpJson(labels)))}});
  }
  const bool any_fires = std::any_of(news.begin(), news.end(), Fires);
  return {{"version", "4"},
          {"groupKey", absl::StrCat("{}:{job=\"", job.name, "\", namespace=\"", job.ns, "\"}")},
          {"truncatedAlerts", 0},
          {"status", any_fires ? "firing" : "resolved"},
          {"receiver", receiver},
          {"groupLabels", GroupLabels(job)},
          {"commonLabels", common_labels},
          {"commonAnnotations", common_annotations},
          {"externalURL", ""},
          {"alerts", alerts}};
}

Json AlertmanagerMessage(const std::string& receiver, const AlertedJob& job,
                         const std::vector<AlertNews>& news, absl::Time valid_until) {
  Json alerts = Json::array();
  for (const AlertNews& one : news) {
    alerts.push_back({{"labels", Labels(receiver, job, one.alert)},
                      {"annotations", Annotations(job, one.alert)},
                      {"startsAt", Rfc3339(one.alert.since)},
                      {"endsAt", Rfc3339(Fires(one) ? valid_until : one.ended)}});
  }
  return alerts;
}

}  // namespace muster::control
