#ifndef MUSTER_TRAINER_COMM_GLOO_OPERATION_H_
#define MUSTER_TRAINER_COMM_GLOO_OPERATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "torch/csrc/distributed/c10d/Work.hpp"
#include "trainer/comm/flight_record.h"
#include "trainer/comm/gloo_group.h"
#include "trainer/comm/operation.h"
#include "trainer/comm/operation_tracker.h"

namespace muster::trainer {

using GlooWork = c10::intrusive_ptr<c10d::Work>;

// Makes a status from the text of an error; Gloo's errors have no codes.
absl::Status GlooStatus(const std::string& text);

// A Gloo group in use. Thread-safe, except for the process group itself.
//
// When a connection breaks while a message waits to be written to it, or has come in part, Gloo
// does not wake the thread that waits for that message: the operation sleeps until Gloo's own
// time-out, and so does the destructor of Gloo's group. Such an operation is abandoned, with its
// tensors, and such a group is destroyed by a thread of its own.
class LiveGroup {
 public:
  explicit LiveGroup(GlooGroup group) : group_(std::move(group)) {}
  ~LiveGroup();
  LiveGroup(const LiveGroup&) = delete;
  LiveGroup& operator=(const LiveGroup&) = delete;

  c10d::ProcessGroupGloo& process_group() { return *group_.process_group; }
  absl::Duration deadline() const { return group_.deadline; }
  bool check() const { return group_.check; }
  FlightRecord& record() { return record_; }
  const std::shared_ptr<OperationTracker>& tracker() const { return tracker_; }

  // Fails the group, which ends what is in flight here and on the peers. The first failure stands
  // and is returned.
  absl::Status Fail(const absl::Status& status) MUSTER_EXCLUDES(mu_);

  // The messages under way. Only their own abort() wakes a thread that waits for them.
  void AddMessage(const GlooWork& work) MUSTER_EXCLUDES(mu_);
  void RemoveMessage(const GlooWork& work) MUSTER_EXCLUDES(mu_);

  // Keeps the tensors of an operation that did not end for as long as Gloo may use them.
  void Abandon(std::vector<at::Tensor> tensors) MUSTER_EXCLUDES(mu_);

 private:
  GlooGroup group_;
  FlightRecord record_;
  // Shared with Gloo's threads, which must not be the last owners of their group.
  const std::shared_ptr<OperationTracker> tracker_ = std::make_shared<OperationTracker>();
  Mutex mu_;
  std::vector<GlooWork> messages_ MUSTER_GUARDED_BY(mu_);
  std::vector<at::Tensor> abandoned_ MUSTER_GUARDED_BY(mu_);
};

// One operation of a group. Used by one thread.
class GlooOperation {
 public:
  GlooOperation(std::shared_ptr<LiveGroup> group, int64_t sequence, Fingerprint fingerprint,
                GlooWork work, std::vector<at::Tensor> tensors);
  ~GlooOperation();
  GlooOperation(const GlooOperation&) = delete;
  GlooOperation& operator=(const GlooOperation&) = delete;

  // Returns by the group's deadline, and promptly when the group fails; an error is the group's
  // failure. Gloo then leaves the tensors alone, or they are abandoned with the operation.
  absl::Status Wait();

 private:
  bool IsMessage() const;
  absl::Status WaitForMessage();
  void Leave();

  const std::shared_ptr<LiveGroup> group_;  // operations may outlive their communicator
  const int64_t sequence_;
  const Fingerprint fingerprint_;
  GlooWork work_;  // null once Wait() has returned
  std::vector<at::Tensor> tensors_;
  int64_t tracked_ = -1;  // its number in the group's tracker; -1 for a message
  absl::Status result_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_GLOO_OPERATION_H_
