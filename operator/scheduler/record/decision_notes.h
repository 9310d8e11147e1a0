#ifndef MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_NOTES_H_
#define MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_NOTES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/schedule.h"
#include "operator/scheduler/record/decision_recorder.h"

namespace muster::control {

// Calls Schedule(), hands all its input to a recorder if there is one, and remembers which decision
// last mentioned each job. Not thread-safe.
class DecisionNotes {
 public:
  // If `recorder` is null, nothing is kept; otherwise it must outlive this.
  explicit DecisionNotes(DecisionRecorder* recorder) : recorder_(recorder) {}

  std::vector<Decision> Schedule(absl::Time now, TopologyTree& tree, QueueBook& book,
                                 const ScheduleOptions& options);

  // Returns the id for `muster replay`, or 0 if no decision about the job is kept.
  uint64_t DecisionOf(const std::string& job_uid) const;
  void Forget(const std::function<bool(const std::string& job_uid)>& is_gone);

 private:
  DecisionRecorder* const recorder_;
  std::map<std::string, uint64_t> decided_in_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_NOTES_H_
