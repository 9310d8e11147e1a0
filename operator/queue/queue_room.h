#ifndef MUSTER_OPERATOR_QUEUE_QUEUE_ROOM_H_
#define MUSTER_OPERATOR_QUEUE_QUEUE_ROOM_H_

#include <cstdint>
#include <string>

#include "operator/queue/queue_state.h"
#include "operator/queue/quota_tree.h"

namespace muster::control {

// The resource that bounds a size, how much of it there is, and whether that is what the limit of
// the job's namespace leaves; otherwise it is what quota leaves.
struct Shortage {
  int resource = -1;
  int64_t available = 0;
  bool of_namespace = false;
};

// The most workers up to `most` of a job that its queue has room for as the book stands, by quota
// and by the limit of its namespace there; when that is fewer, says what is short. A namespace that
// leaves too little for the job's smallest size is named before quota: nobody else's going helps.
int64_t RoomInQueue(const QueueBook::State& state, const JobEntry& job, int64_t most,
                    Shortage& shortage);
// By the limit of its namespace alone.
int64_t RoomInNamespace(const QueueBook::State& state, const JobEntry& job, int64_t most);

// The same while others leave and come. State and job must outlive it.
class QueueRoom {
 public:
  QueueRoom(const QueueBook::State& state, const JobEntry& job);

  // So much of a namespace in a queue is given back, or taken.
  void Leave(int queue, const std::string& ns, const QuotaNeed& amount);
  void Come(int queue, const std::string& ns, const QuotaNeed& amount);
  void Leave(const JobEntry& other, int64_t workers) {
    Leave(other.queue, other.job.ns, other.Need(workers));
  }
  void Come(const JobEntry& other, int64_t workers) {
    Come(other.queue, other.job.ns, other.Need(workers));
  }

  const QuotaUse& use() const { return use_; }
  bool Fits(int64_t workers) const;
  // The most workers up to `most` that there is room for.
  int64_t Most(int64_t most) const;
  // What keeps so many out; its resource is -1 when nothing does.
  Shortage ShortOf(int64_t workers) const;

 private:
  void ChangeLeft(int queue, const std::string& ns, const QuotaNeed& amount, int sign);

  const QuotaTree* tree_;
  const JobEntry* job_;
  QuotaUse use_;
  QuotaNeed left_;  // of its namespace's limit in its queue; may be negative
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_QUEUE_ROOM_H_
