#include "operator/runtime/event_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/logging.h"
#include "operator/api/training_job.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

constexpr size_t kRemembered = 64;
constexpr size_t kMaxMessage = 1024;  // the API server refuses longer ones

std::string TypeName(Event::Type type) {
  return type == Event::Type::kWarning ? "Warning" : "Normal";
}

}  // namespace

EventTarget NodeTarget(const std::string& name) { return {"v1", "Node", {"", name}, name}; }

bool EventRecorder::TakeToken(Source& source) {
  const absl::Time now = clock_.Monotonic();
  if (source.refilled != absl::InfinitePast()) {
    const double earned = absl::FDivDuration(now - source.refilled, kRefill);
    source.tokens = std::min<double>(kBurst, source.tokens + earned);
  }
  source.refilled = now;
  if (source.tokens < 1) {
    ++dropped_;
    return false;
  }
  source.tokens -= 1;
  return true;
}

Json EventRecorder::Build(const EventTarget& target, const Event& event,
                          const Written& written) const {
  // Events about what has no namespace are kept in this one.
  const std::string& name_space = target.key.name_space;
  Json json =
      kube::NewObject(kube::kEvents, {name_space.empty() ? "default" : name_space, written.name});
  Json& about = json["involvedObject"] = {{"apiVersion", target.api_version},
                                          {"kind", target.kind},
                                          {"name", target.key.name},
                                          {"uid", target.uid}};
  if (!name_space.empty()) about["namespace"] = name_space;
  json["type"] = TypeName(event.type);
  json["reason"] = event.reason;
  json["message"] = event.message.substr(0, kMaxMessage);
  json["count"] = written.count;
  json["firstTimestamp"] = kube::FormatTime(written.first);
  json["lastTimestamp"] = kube::FormatTime(clock_.Wall());
  json["source"] = {{"component", component_}};
  json["reportingComponent"] = component_;
  return json;
}

void EventRecorder::Record(const kube::ObjectKey& job, const std::string& job_uid,
                           const Event& event) {
  Record({kApiVersion, kTrainingJobKind, job, job_uid}, event);
}

void EventRecorder::Record(const EventTarget& target, const Event& event) {
  Json json;
  bool update = false;
  {
    MutexLock lock(mu_);
    Source& source = sources_[target.uid];
    if (!TakeToken(source)) return;
    if (source.written.size() >= kRemembered) source.written.clear();
    Written& written =
        source.written[absl::StrCat(TypeName(event.type), "/", event.reason, "/", event.message)];
    update = written.count++ > 0;
    if (!update) {
      written.first = clock_.Wall();
      written.name = absl::StrFormat("%s.%x%04x", target.key.name,
                                     absl::ToUnixMicros(written.first), ++serial_ & 0xffff);
    }
    json = Build(target, event, written);
  }
  absl::StatusOr<Json> stored =
      update ? api_.Update(kube::kEvents, json) : api_.Create(kube::kEvents, json);
  if (update && absl::IsNotFound(stored.status())) stored = api_.Create(kube::kEvents, json);
  if (!stored.ok()) {
    MUSTER_LOG(WARN, "event not written", {"object", kube::ToString(target.key)},
               {"reason", event.reason}, {"error", stored.status()});
  }
}

void EventRecorder::Forget(const std::string& uid) {
  MutexLock lock(mu_);
  sources_.erase(uid);
}

int64_t EventRecorder::dropped() const {
  MutexLock lock(mu_);
  return dropped_;
}

}  // namespace muster::control
