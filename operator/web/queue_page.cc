#include "operator/web/queue_page.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/scheduler/queue_sync/queue_report.h"
#include "operator/web/not_found.h"

namespace muster::control {
namespace {

Json ToJson(const WaitingJobReport& job) {
  return {{"job", absl::StrCat(job.ns, "/", job.name)},
          {"priority", job.priority},
          {"workers", job.workers},
          {"gpus", job.gpus},
          {"waitedSeconds", absl::ToInt64Seconds(job.waited)},
          {"reason", job.reason},
          {"sentence", job.sentence}};
}

Json ToJson(const QueueReport& report) {
  Json jobs = Json::array();
  for (const WaitingJobReport& job : report.waiting) jobs.push_back(ToJson(job));
  return {{"name", report.queue.name},
          {"parent", report.queue.parent},
          {"weight", report.queue.weight},
          {"share", report.queue.share},
          {"borrowing", report.queue.borrowing},
          {"cohort", report.cohort},
          {"broken", report.broken},
          {"used", Json(report.queue.used)},
          {"nominal", Json(report.queue.nominal)},
          {"unknownResources", report.unknown},
          {"complaint", report.complaint},
          {"running", report.queue.running},
          {"waiting", report.queue.waiting},
          {"jobs", std::move(jobs)}};
}

}  // namespace

absl::StatusOr<Json> QueuePage(const WebDeps& deps, const std::string& name, int limit) {
  Json items = Json::array();
  std::vector<std::string> names;
  for (const QueueReport& report : deps.scheduler.Queues(limit)) {
    if (name.empty() || report.queue.name == name) items.push_back(ToJson(report));
    names.push_back(report.queue.name);
  }
  if (!name.empty() && items.empty()) {
    return NoSuchQueue(name, names);
  }
  return Json{{"items", std::move(items)}};
}

}  // namespace muster::control
