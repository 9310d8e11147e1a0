#include "operator/runtime/queue_report.h"

#include <algorithm>
#include <utility>

#include "operator/queue/queue_state.h"

namespace muster::control {

std::vector<QueueReport> ReportQueues(absl::Time now, const JobBook& book, const Verdicts& verdicts,
                                      int most_jobs) {
  std::vector<QueueReport> reports;
  const QuotaTree& tree = *book.book().state().tree;
  for (QueueBook::QueueView& view : book.book().Queues(now)) {
    QueueReport report;
    const int index = tree.FindQueue(view.name);
    report.broken = tree.is_broken(index);
    report.cohort = tree.is_cohort(index);
    std::vector<const QueuedJob*> waiting_jobs;
    if (most_jobs > 0) waiting_jobs = book.book().WaitingInOrder(view.name);
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
