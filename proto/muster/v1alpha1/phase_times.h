#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_PHASE_TIMES_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_PHASE_TIMES_H_

#include "proto/muster/v1alpha1/run_state.pb.h"

// Sums and differences of PhaseTimes, phase by phase. The functions are in the message's own
// namespace, so calls find them by their arguments. Pure.
namespace muster::v1alpha1 {

// Returns a + sign * b.
inline PhaseTimes Combine(const PhaseTimes& a, const PhaseTimes& b, double sign) {
  PhaseTimes out;
  out.set_init(a.init() + sign * b.init());
  out.set_compute(a.compute() + sign * b.compute());
  out.set_data(a.data() + sign * b.data());
  out.set_communication(a.communication() + sign * b.communication());
  out.set_checkpoint(a.checkpoint() + sign * b.checkpoint());
  out.set_recovery(a.recovery() + sign * b.recovery());
  out.set_other(a.other() + sign * b.other());
  return out;
}

inline PhaseTimes Sum(const PhaseTimes& a, const PhaseTimes& b) { return Combine(a, b, 1); }

// Returns the time that was spent in each phase between two readings.
inline PhaseTimes Difference(const PhaseTimes& now, const PhaseTimes& before) {
  return Combine(now, before, -1);
}

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_PHASE_TIMES_H_
