#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_ROOM_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_ROOM_H_

#include <cstdint>
#include <string>

#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/quota_tree.h"

namespace muster::control {

// The resource that bounds a job's size and the amount available: what the limit of the job's
// namespace leaves if `of_namespace`, otherwise what quota leaves.
struct Shortage {
  int resource = -1;
  int64_t available = 0;
  bool of_namespace = false;
};

// Returns the most workers up to `most` of a job that its queue has room for as the book stands, by
// quota and by the limit of its namespace there; if these are fewer, sets `shortage`. A namespace
// that leaves too little for the smallest size is named before quota: only jobs of it can make
// room.
int64_t RoomInQueue(const QueueBook::State& state, const JobEntry& job, int64_t most,
                    Shortage& shortage);
// The same, by the limit of its namespace alone.
int64_t RoomInNamespace(const QueueBook::State& state, const JobEntry& job, int64_t most);

// The same while other jobs leave and come. State and job must outlive it.
class QueueRoom {
 public:
  QueueRoom(const QueueBook::State& state, const JobEntry& job);

  // Gives back, or takes, an amount of a namespace in a queue.
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
  // The shortage that keeps `workers` out; its resource is -1 if nothing does.
  Shortage ShortOf(int64_t workers) const;

 private:
  void ChangeLeft(int queue, const std::string& ns, const QuotaNeed& amount, int sign);

  const QuotaTree* tree_;
  const JobEntry* job_;
  QuotaUse use_;
  QuotaNeed left_;  // what its namespace's limit leaves; may be negative
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_ROOM_H_
