#include "operator/scheduler/queue_sync/queue_status.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/logging.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/api/codec.h"
#include "operator/core/state/conditions.h"
#include "operator/kube/queue_resources.h"
#include "operator/queue/book/queue_from_spec.h"
#include "operator/scheduler/queue_sync/queue_past.h"

namespace muster::control {
namespace {

constexpr char kActive[] = "Active";
// A share changes with the clock: it is written once it has changed by this fraction of itself.
constexpr double kShareNoise = 0.05;
constexpr double kLeastShare = 0.001;

struct Shown {
  bool active = true;
  const char* reason = "Ready";
  std::string message = "jobs of the queue may start";
};

Shown ShownOf(const TrainingQueue& queue, const QueueReport& report) {
  if (const auto spec = QueueFromSpec(queue.name, queue.spec); !spec.ok()) {
    return {false, "InvalidSpec", std::string(spec.status().message())};
  }
  if (report.broken) return {false, "ParentsInCircle", "its parents form a circle"};
  if (queue.spec.stopped()) return {false, "Stopped", "spec.stopped: nothing new starts"};
  Shown shown;
  if (report.cohort) {
    shown = {true, "Cohort", "other queues name it as their parent: jobs wait in those"};
  }
  if (report.complaint.empty()) return shown;
  return {true, "NoSuchResource", absl::StrCat(shown.message, "; ", report.complaint)};
}

// Reduces the view to the resources that the CRD has room for: those with quotas, then the first by
// name.
QueueBook::QueueView MostOf(const TrainingQueue& queue, QueueBook::QueueView view) {
  constexpr size_t kRoom = 64;
  std::set<std::string> all;
  for (const auto& [resource, amount] : view.used) all.insert(resource);
  for (const auto& [resource, amount] : view.past) all.insert(resource);
  if (all.size() <= kRoom) return view;
  std::set<std::string> told;
  for (const v1alpha1::QueueQuota& quota : queue.spec.quotas()) {
    if (all.count(quota.resource()) > 0) told.insert(quota.resource());
  }
  for (auto it = all.begin(); told.size() < kRoom; ++it) told.insert(*it);
  const auto untold = [&](const auto& entry) { return told.count(entry.first) == 0; };
  std::erase_if(view.used, untold);
  std::erase_if(view.past, untold);
  return view;
}

std::string AmountText(const std::string& resource, int64_t amount) {
  if (resource != "cpu") return absl::StrCat(amount);
  return amount % 1000 == 0 ? absl::StrCat(amount / 1000) : absl::StrCat(amount, "m");
}

bool IsNoise(const v1alpha1::TrainingQueueStatus& before, v1alpha1::TrainingQueueStatus after) {
  const double moved = std::abs(after.share() - before.share());
  if (before.has_share() && moved <= std::max(kLeastShare, kShareNoise * before.share())) {
    after.set_share(before.share());
  }
  // The new past use follows from the old one and needs no write.
  if (before.has_past_time() || before.past_size() > 0 || after.past_size() == 0) {
    *after.mutable_past() = before.past();
    after.clear_past_time();
    if (before.has_past_time()) after.set_past_time(before.past_time());
  }
  return google::protobuf::util::MessageDifferencer::Equals(before, after);
}

}  // namespace

v1alpha1::TrainingQueueStatus QueueStatusOf(absl::Time now, const TrainingQueue& queue,
                                            const QueueReport& report) {
  v1alpha1::TrainingQueueStatus status;
  status.set_observed_generation(queue.generation);
  status.set_waiting(report.queue.waiting);
  status.set_running(report.queue.running);
  status.set_share(std::round(report.queue.share * 1e4) / 1e4);
  status.set_borrowing(report.queue.borrowing);
  const QueueBook::QueueView told = MostOf(queue, report.queue);
  for (const auto& [resource, amount] : told.used) {
    v1alpha1::QueueAmount& used = *status.add_used();
    used.set_resource(resource);
    used.set_amount(AmountText(resource, amount));
  }
  PutPast(now, told, status);
  const Shown shown = ShownOf(queue, report);
  v1alpha1::Condition& active = *status.add_conditions();
  active.set_type(kActive);
  active.set_status(shown.active ? "True" : "False");
  active.set_reason(shown.reason);
  active.set_message(shown.message);
  active.set_observed_generation(queue.generation);
  active.set_last_transition_time(FormatWall(now));
  for (const v1alpha1::Condition& before : queue.status.conditions()) {
    if (before.type() != kActive || before.status() != active.status()) continue;
    active.set_last_transition_time(before.last_transition_time());
  }
  return status;
}

int QueueStatusWriter::RunOnce(absl::Time now, const std::vector<QueueReport>& reports) {
  std::map<std::string, const QueueReport*> by_name;
  for (const QueueReport& report : reports) by_name[report.queue.name] = &report;
  int written = 0;
  for (const QueueCache::Object& queue : queues_.List()) {
    const auto report = by_name.find(queue->name);
    const v1alpha1::TrainingQueueStatus status =
        QueueStatusOf(now, *queue, report == by_name.end() ? QueueReport{} : *report->second);
    if (IsNoise(queue->status, status)) continue;
    const Json json = {{"apiVersion", kube::kTrainingQueues.ApiVersion()},
                       {"kind", kTrainingQueueKind},
                       {"metadata",
                        {{"name", queue->name},
                         {"uid", queue->uid},
                         {"resourceVersion", queue->resource_version}}},
                       {"status", EncodeMessage(status)}};
    const absl::Status done = api_.UpdateStatus(kube::kTrainingQueues, json).status();
    written += done.ok();
    if (done.ok() || absl::IsAborted(done) || absl::IsNotFound(done)) continue;
    MUSTER_LOG_LIMITED(WARN, queue->name, "status of a queue not written", {"queue", queue->name},
                       {"error", done});
  }
  return written;
}

}  // namespace muster::control
