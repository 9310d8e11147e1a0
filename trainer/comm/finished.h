#ifndef MUSTER_TRAINER_COMM_FINISHED_H_
#define MUSTER_TRAINER_COMM_FINISHED_H_

#include <utility>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// An operation that ended when it was issued, well or not.
class Finished final : public Pending {
 public:
  explicit Finished(absl::Status status) : status_(std::move(status)) {}
  absl::Status Wait() override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_FINISHED_H_
