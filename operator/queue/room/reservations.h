#ifndef MUSTER_OPERATOR_QUEUE_ROOM_RESERVATIONS_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_RESERVATIONS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_room.h"
#include "operator/queue/book/quota_tree.h"
#include "operator/queue/room/gang_trial.h"

namespace muster::control {

struct ReservationLimits {
  absl::Duration stop_grace;  // leaving workers have gone after it
  int per_cohort = 8;
  // Reservations that also hold nodes; the others hold quota only.
  int with_nodes = 4;
  GangGate* gate = nullptr;  // as in ScheduleOptions
};

// The promises of one cycle: jobs that cannot start yet, and the time by which they do if running
// jobs end when they say. Jobs that state no end come last, at InfiniteFuture; those of them that
// started after the reservation was first made never end. A promise to a job that borrows does not
// bind jobs of other queues within their nominal quota. Tree and state must outlive it.
class Reservations {
 public:
  Reservations(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
               const ReservationLimits& limits);

  // Promises `head` the earliest time at which it fits with `workers`, or with its smallest size if
  // it never does with them; `by_nodes` if it lacks nodes. Nothing if its cohort has enough
  // promises, or it can never fit.
  std::optional<absl::Time> Reserve(JobEntry& head, int workers, bool by_nodes);

  // Returns a job whose promise would be broken if `job` ran from now on with one worker on each of
  // `nodes`; null: none.
  const JobEntry* WhoIsDelayed(const JobEntry& job, const std::vector<int>& nodes);
  // Records that the job has started: the tree and what is used include it.
  void Started(const JobEntry& job, const std::vector<int>& nodes);

 private:
  // Workers [from, to) of a running job go at `at`.
  struct Ending {
    absl::Time at;
    const JobEntry* entry;
    int from;
    int to;
  };
  struct Promise {
    JobEntry* head = nullptr;
    GangRequest request;  // the head's, with the promised size as `min`
    absl::Time at;
    QuotaNeed need;
    QueueRoom room;                    // at that time
    std::unique_ptr<GangTrial> nodes;  // at that time; null: not looked at
    bool wants_nodes = false;
    bool borrows = false;
  };

  void CollectEndings();
  // Appends in any order; AddJob keeps the lists sorted.
  void AppendJob(const JobEntry& entry, std::vector<Ending>& endings) const;
  void AddJob(const JobEntry& entry);
  // Fills in at, room and nodes.
  bool Compute(Promise& promise, bool with_nodes);
  bool Keeps(Promise& promise, const JobEntry& job, const std::vector<int>& nodes);
  void Hold(Promise& promise, const JobEntry& job, const std::vector<int>& nodes, int sign);
  bool Concerns(const Promise& promise, const JobEntry& job, size_t workers) const;

  const absl::Time now_;
  const TopologyTree& tree_;
  const QueueBook::State& state_;
  const ReservationLimits limits_;
  bool collected_ = false;
  // Sorted by time, then UID: all running jobs, and the same by cohort.
  std::vector<Ending> endings_;
  std::map<int, std::vector<Ending>> endings_of_;
  std::vector<Promise> promises_;
  std::map<int, int> count_of_;  // promises by cohort
  int holding_nodes_ = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_RESERVATIONS_H_
