#ifndef MUSTER_TRAINER_COMM_COMMUNICATION_ERROR_H_
#define MUSTER_TRAINER_COMM_COMMUNICATION_ERROR_H_

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace muster::trainer {

// Carries the error of a collective out of code that can only throw: a block, whose backward pass
// autograd calls. What runs the block turns it into the status again.
class CommunicationError final : public std::exception {
 public:
  explicit CommunicationError(absl::Status status)
      : status_(std::move(status)), message_(status_.message()) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  const absl::Status status_;
  const std::string message_;
};

inline void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) throw CommunicationError(status);
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_COMMUNICATION_ERROR_H_
