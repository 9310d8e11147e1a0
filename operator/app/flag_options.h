#ifndef MUSTER_OPERATOR_APP_FLAG_OPTIONS_H_
#define MUSTER_OPERATOR_APP_FLAG_OPTIONS_H_

#include "operator/app/operator_flags.h"
#include "operator/app/operator_options.h"

namespace muster::control {

// Returns the options that the flags of muster-operator stand for. `throttle` and `on_lost` are the
// caller's to set.
OperatorOptions ToOperatorOptions(const OperatorFlags& flags);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_APP_FLAG_OPTIONS_H_
