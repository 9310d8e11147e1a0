#ifndef MUSTER_OPERATOR_QUEUE_FORECAST_SCHEDULE_ROLLOUT_H_
#define MUSTER_OPERATOR_QUEUE_FORECAST_SCHEDULE_ROLLOUT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queued_job.h"
#include "operator/queue/decision_input.h"

namespace muster::control {

// Simulates cycle after cycle from a decision's input, on a copy, as if no job were submitted and
// running jobs ended when they say. Jobs without an end never end; workers that were told to go
// have gone after options.stop_grace. Pure; the input must outlive it.
class ScheduleRollout {
 public:
  // The gate that finds places for gangs with inter-pod constraints; it knows the cluster as of the
  // input. Must outlive the future.
  struct Asked {
    GangGate* gate = nullptr;  // null: room alone decides
    std::string job;           // UID of the gang
    int most = 0;              // the most questions
  };
  ScheduleRollout(const DecisionInput& input, Asked asked);
  ~ScheduleRollout();
  ScheduleRollout(const ScheduleRollout&) = delete;
  ScheduleRollout& operator=(const ScheduleRollout&) = delete;

  absl::Time now() const { return now_; }
  // Runs one cycle.
  std::vector<Decision> Decide();
  // Moves to the next time at which a job ends, workers go, a job loses its protection by
  // min_runtime, or a queue's first job has waited for shrink_after. Returns false if no such time
  // is left.
  bool Advance();
  // Ends all running jobs at once.
  void EndAll();

  // Workers [from, to) of a job that ran at the beginning, which have gone.
  struct Gone {
    QueuedJob job;  // its state just before they went
    int from = 0;
    int to = 0;
    absl::Time at;
    bool told = false;  // it was told to go; false: it ended
  };
  const std::vector<Gone>& gone() const { return gone_; }

  const TopologyTree& tree() const { return tree_; }
  QueueBook& book() { return book_; }
  GangGate& gate() { return *gate_; }
  // True if more questions were asked than allowed; those beyond the limit were answered with no.
  bool exhausted() const { return questions_ > asked_.most; }

 private:
  class Gate;
  friend class Gate;

  std::optional<GangAnswer> Ask(GangQuestion question);
  // The time at which a running job next ends or gives up workers.
  absl::Time NextOf(const QueuedJob& job);
  void Release(const QueuedJob& job, int from, bool told);
  void End(const std::string& uid);
  void LetGo(const std::string& uid);

  const Asked asked_;
  int questions_ = 0;
  const std::unique_ptr<GangGate> gate_;
  ScheduleOptions options_;
  TopologyTree tree_;
  QueueBook book_;
  absl::Time now_;
  std::set<std::string> ran_;                  // since the beginning, by UID
  std::map<std::string, absl::Time> leaving_;  // end of grace, by UID
  std::vector<Gone> gone_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_SCHEDULE_ROLLOUT_H_
