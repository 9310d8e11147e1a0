#ifndef MUSTER_OPERATOR_QUEUE_CLAIM_RENEWAL_H_
#define MUSTER_OPERATOR_QUEUE_CLAIM_RENEWAL_H_

#include "operator/queue/cycle_context.h"
#include "operator/queue/place_search.h"

namespace muster::control {

// Renews the claims of jobs for which others were told to go, before any queue has a turn. Who has
// claimed for longest comes first, and every claimant gets its smallest size before any gets more.
void RenewClaims(CycleContext& cycle, const PlaceSearch& places);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_CLAIM_RENEWAL_H_
