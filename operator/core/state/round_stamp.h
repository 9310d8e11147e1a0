#ifndef MUSTER_OPERATOR_CORE_STATE_ROUND_STAMP_H_
#define MUSTER_OPERATOR_CORE_STATE_ROUND_STAMP_H_

#include <compare>
#include <cstdint>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::control {

// A (term, round): terms count leaderships, rounds memberships; both only grow. {0, 0} is no round.
struct RoundStamp {
  int64_t term = 0;
  int64_t round = 0;
  auto operator<=>(const RoundStamp&) const = default;
};

inline RoundStamp ToStamp(const v1alpha1::RoundId& id) { return {id.term(), id.round()}; }

inline v1alpha1::RoundId ToProto(const RoundStamp& stamp) {
  return v1alpha1::MakeRoundId(stamp.term, stamp.round);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_ROUND_STAMP_H_
