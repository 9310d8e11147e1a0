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
#include "operator/queue/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/queue_book.h"
#include "operator/queue/queued_job.h"

namespace muster::control {

// What becomes of a decision's input if nobody submits anything and running jobs end when they say:
// Schedule, cycle after cycle, on a copy. Jobs without an end never end; what was told to go goes
// after options.stop_grace. Pure; the input must outlive it.
class Future {
 public:
  // Whom to ask about places for a social gang. What the gate knows is the beginning; it must
  // outlive the future.
  struct Asked {
    GangGate* gate = nullptr;  // null: room decides
    std::string job;           // the one that is asked about
    int most = 0;              // questions
  };
  Future(const DecisionInput& input, Asked asked);
  ~Future();
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;

  absl::Time now() const { return now_; }
  // One cycle.
  std::vector<Decision> Decide();
  // To the next time at which somebody ends, goes, or may be told to go; false: nobody says so.
  bool Advance();
  // Of all who run, at once.
  void EndAll();

  // The workers from `from` up to `to` of a job that ran at the beginning have gone.
  struct Gone {
    QueuedJob job;  // as it was then
    int from = 0;
    int to = 0;
    absl::Time at;
    bool told = false;  // to go; otherwise it has ended
  };
  const std::vector<Gone>& gone() const { return gone_; }

  const TopologyTree& tree() const { return tree_; }
  QueueBook& book() { return book_; }
  GangGate& gate() { return *gate_; }
  // There were more questions than may be asked: they got a no.
  bool exhausted() const { return questions_ > asked_.most; }

 private:
  class Gate;
  friend class Gate;

  std::optional<GangAnswer> Ask(GangQuestion question);
  // When something happens to a running job next.
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
  std::map<std::string, absl::Time> leaving_;  // until when, by UID
  std::vector<Gone> gone_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_FORECAST_SCHEDULE_ROLLOUT_H_
