#ifndef MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_REPORT_H_
#define MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/objects/verdicts.h"
#include "operator/queue/book/queue_book.h"

namespace muster::control {

// A waiting job, for display.
struct WaitingJobReport {
  std::string ns;
  std::string name;
  int64_t priority = 0;
  int workers = 0;
  int64_t gpus = 0;  // of all workers
  absl::Duration waited;
  std::string reason;
  std::string sentence;
};

// A queue or a cohort, and the jobs that wait in it, the next one first.
struct QueueReport {
  QueueBook::QueueView queue;
  bool broken = false;  // its parents form a circle
  bool cohort = false;  // others name it as their parent
  // Resources that it limits and no node has (empty while no node is known), and a sentence about
  // them.
  std::vector<std::string> unknown;
  std::string complaint;
  std::vector<WaitingJobReport> waiting;
};

// Returns the queues sorted by name, each with at most `most_jobs` waiting jobs.
std::vector<QueueReport> ReportQueues(absl::Time now, const QueueBook& book,
                                      const Verdicts& verdicts, int most_jobs);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_QUEUE_SYNC_QUEUE_REPORT_H_
