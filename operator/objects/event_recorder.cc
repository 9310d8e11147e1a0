#include "operator/objects/event_recorder.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
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
  // Events about cluster-scoped objects are kept in the namespace "default".
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
  {
    MutexLock lock(mu_);
    Source& source = sources_[target.uid];
    if (!TakeToken(source)) return;
    if (source.written.size() >= kRemembered) source.written.clear();
    Written& written =
        source.written[absl::StrCat(TypeName(event.type), "/", event.reason, "/", event.message)];
    const bool update = written.count++ > 0;
    if (!update) {
      written.first = clock_.Wall();
      written.name = absl::StrFormat("%s.%x%04x", target.key.name,
                                     absl::ToUnixMicros(written.first), ++serial_ & 0xffff);
    }
    Add({written.name, target.key, Build(target, event, written), update});
  }
  while (sending_ == Sending::kAtOnce && RunOnce()) {
  }
}

void EventRecorder::Add(Waiting waiting) {
  if (waiting.update) {
    const auto before = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) {
      return one.name == waiting.name && one.about == waiting.about;
    });
    if (before != waiting_.end()) {
      before->json = std::move(waiting.json);
      return;
    }
  }
  if (waiting_.size() >= kMaxWaiting || stopped_) {
    ++dropped_;
    MUSTER_LOG_LIMITED(WARN, component_, "events are dropped: too many wait to be sent",
                       {"waiting", waiting_.size()});
    return;
  }
  waiting_.push_back(std::move(waiting));
  added_.NotifyOne();
}

bool EventRecorder::RunOnce() {
  Waiting next;
  {
    MutexLock lock(mu_);
    if (waiting_.empty()) return false;
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  const absl::Status sent = Send(next);
  MutexLock lock(mu_);
  failed_ = !sent.ok();
  return true;
}

bool EventRecorder::WaitAndRun() {
  {
    MutexLock lock(mu_);
    while (waiting_.empty() && !stopped_) added_.Wait(mu_);
    if (stopped_ && (waiting_.empty() || failed_)) return false;
  }
  return RunOnce();
}

void EventRecorder::Shutdown() {
  MutexLock lock(mu_);
  stopped_ = true;
  failed_ = false;
  added_.NotifyAll();
}

absl::Status EventRecorder::Send(const Waiting& waiting) {
  absl::StatusOr<Json> stored = waiting.update ? api_.Update(kube::kEvents, waiting.json)
                                               : api_.Create(kube::kEvents, waiting.json);
  if (waiting.update && absl::IsNotFound(stored.status())) {
    stored = api_.Create(kube::kEvents, waiting.json);
  }
  if (!stored.ok()) {
    MUSTER_LOG(WARN, "event not written", {"object", kube::ToString(waiting.about)},
               {"reason", kube::StringAt(waiting.json, {"reason"})}, {"error", stored.status()});
  }
  return stored.status();
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
