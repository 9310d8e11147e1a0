#ifndef MUSTER_OPERATOR_COORDINATOR_STREAM_STREAM_QUOTA_H_
#define MUSTER_OPERATOR_COORDINATOR_STREAM_STREAM_QUOTA_H_

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/coordinator/identity/refusals.h"

namespace muster::control {

// Bounds how much one agent says: so many messages and bytes a second, after a burst. An agent
// sends some ten messages a second, and after an outage at most 256 reports at once. It outlives
// the agent's streams, so that one that dials again begins with no new burst. Monotonic times. A
// value; pure.
class StreamQuota {
 public:
  static constexpr double kMessages = 100;
  static constexpr double kMessageBurst = 1000;
  static constexpr double kBytes = size_t{512} << 10;
  static constexpr double kByteBurst = size_t{4} << 20;

  // Takes one message of `bytes`. ResourceExhausted if the agent says more than it may.
  absl::Status Take(size_t bytes, absl::Time now) {
    const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - at_));
    at_ = std::max(at_, now);
    messages_ = std::min(kMessageBurst, messages_ + seconds * kMessages);
    bytes_ = std::min(kByteBurst, bytes_ + seconds * kBytes);
    if (messages_ < 1 || bytes_ < static_cast<double>(bytes)) {
      return Refused(Refusal::kTooOften, absl::StatusCode::kResourceExhausted,
                     absl::StrCat("an agent may send ", kMessages, " messages and ", kBytes,
                                  " bytes a second: this one sends more"));
    }
    messages_ -= 1;
    bytes_ -= static_cast<double>(bytes);
    return absl::OkStatus();
  }

 private:
  double messages_ = kMessageBurst;
  double bytes_ = kByteBurst;
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_COORDINATOR_STREAM_STREAM_QUOTA_H_
