#include "operator/scheduler/queue_sync/queue_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/queue/book/queue_book.h"

namespace muster::control {
namespace {

constexpr size_t kMostNames = 8;

std::string Few(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMostNames, ", "), " and ",
                      names.size() - kMostNames, " more");
}

// Notes resources that no node has: most likely a misspelling, and then the quota limits nothing.
void NoteUnknown(const QueueSpec& spec, const Amounts& capacity, QueueReport& report) {
  if (capacity.empty()) return;
  std::set<std::string> unknown;
  for (const Quota& quota : spec.quotas) unknown.insert(quota.resource);
  for (const NamespaceLimit& limit : spec.namespace_limits) {
    for (const auto& [resource, amount] : limit.limits) unknown.insert(resource);
  }
  std::erase_if(unknown, [&](const std::string& name) { return capacity.count(name) > 0; });
  if (unknown.empty()) return;
  std::vector<std::string> known;
  for (const auto& [resource, amount] : capacity) known.push_back(resource);
  report.unknown = {unknown.begin(), unknown.end()};
  report.complaint = absl::StrCat("no node has ", Few(report.unknown),
                                  ", so that limits nothing; nodes have ", Few(known));
}

}  // namespace

std::vector<QueueReport> ReportQueues(absl::Time now, const QueueBook& book,
                                      const Verdicts& verdicts, int most_jobs) {
  std::vector<QueueReport> reports;
  const QueueBook::State& state = book.state();
  const QuotaTree& tree = *state.tree;
  for (QueueBook::QueueView& view : book.Queues(now)) {
    QueueReport report;
    const int index = tree.FindQueue(view.name);
    report.broken = tree.is_broken(index);
    report.cohort = tree.is_cohort(index);
    NoteUnknown(state.queues[index].spec, state.capacity, report);
    std::vector<const QueuedJob*> waiting_jobs;
    if (most_jobs > 0) waiting_jobs = book.WaitingInOrder(view.name);
    for (const QueuedJob* job : waiting_jobs) {
      if (static_cast<int>(report.waiting.size()) >= most_jobs) break;
      WaitingJobReport& waiting = report.waiting.emplace_back();
      const PlacementView verdict = verdicts.Of(job->uid);
      waiting.ns = job->ns;
      waiting.name = job->name;
      waiting.priority = job->priority;
      waiting.workers = job->request.max;
      waiting.gpus = job->request.max * job->request.per_worker.gpus;
      waiting.waited = std::max(absl::ZeroDuration(), now - job->created);
      waiting.reason = verdict.reason;
      waiting.sentence = verdict.sentence;
    }
    report.queue = std::move(view);
    reports.push_back(std::move(report));
  }
  std::sort(reports.begin(), reports.end(),
            [](const QueueReport& a, const QueueReport& b) { return a.queue.name < b.queue.name; });
  return reports;
}

}  // namespace muster::control
