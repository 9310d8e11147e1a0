#ifndef MUSTER_TRAINER_ENGINE_LINK_ROUND_ERRORS_H_
#define MUSTER_TRAINER_ENGINE_LINK_ROUND_ERRORS_H_

#include "absl/status/status.h"

namespace muster::trainer {

// Returns true if an error belongs to the round, so that another round may mend it, and not to this
// rank itself.
inline bool IsErrorOfRound(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_ROUND_ERRORS_H_
