#ifndef MUSTER_OPERATOR_QUEUE_RECORD_EXACT_TIME_H_
#define MUSTER_OPERATOR_QUEUE_RECORD_EXACT_TIME_H_

#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

// Converts Abseil's times to a message and back, without loss.
namespace muster::control {

inline v1alpha1::ExactTime ToExact(absl::Duration duration) {
  v1alpha1::ExactTime exact;
  if (duration == absl::InfiniteDuration() || duration == -absl::InfiniteDuration()) {
    exact.set_seconds(duration > absl::ZeroDuration() ? std::numeric_limits<int64_t>::max()
                                                      : std::numeric_limits<int64_t>::min());
    return exact;
  }
  absl::Duration rest;
  int64_t seconds = absl::IDivDuration(duration, absl::Seconds(1), &rest);
  if (rest < absl::ZeroDuration()) {
    --seconds;
    rest += absl::Seconds(1);
  }
  exact.set_seconds(seconds);
  exact.set_quarter_nanos(
      static_cast<uint32_t>(absl::IDivDuration(rest, absl::Nanoseconds(1) / 4, &rest)));
  return exact;
}

inline absl::Duration FromExact(const v1alpha1::ExactTime& exact) {
  if (exact.seconds() == std::numeric_limits<int64_t>::max()) return absl::InfiniteDuration();
  if (exact.seconds() == std::numeric_limits<int64_t>::min()) return -absl::InfiniteDuration();
  return absl::Seconds(exact.seconds()) + exact.quarter_nanos() * (absl::Nanoseconds(1) / 4);
}

inline v1alpha1::ExactTime ToExact(absl::Time time) { return ToExact(time - absl::UnixEpoch()); }

inline absl::Time TimeFromExact(const v1alpha1::ExactTime& exact) {
  return absl::UnixEpoch() + FromExact(exact);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_RECORD_EXACT_TIME_H_
