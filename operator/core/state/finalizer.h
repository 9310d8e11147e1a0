#ifndef MUSTER_OPERATOR_CORE_STATE_FINALIZER_H_
#define MUSTER_OPERATOR_CORE_STATE_FINALIZER_H_

#include "operator/core/state/draft.h"

namespace muster::control {

// Keeps a deleted job until its pods are gone.
inline constexpr char kFinalizer[] = "muster.dev/workers";

bool HasFinalizer(const Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_FINALIZER_H_
