#ifndef MUSTER_OPERATOR_CORE_ACCOUNT_COST_H_
#define MUSTER_OPERATOR_CORE_ACCOUNT_COST_H_

#include "operator/core/state/draft.h"

// The money and the energy that a job takes: each pod's share of its node (PodView::rates), from
// when the pod is bound until it is gone or has ended. Like the ledger it ends with the job. A
// leadership files time as it passes, at the rates that it saw at its beginning; a new leader files
// the time since status.cost.until at the rates that it finds, for those pods that are still there.
namespace muster::control {

// Policy, after KeepLedger(), whose division of the time it follows: files the cost since the last
// decision in the memory.
void KeepCost(Draft& draft);

// Brings status.cost up to date, unless no price and no power was known so far. Called when the
// status is written anyhow, because the cost alone is no reason to write.
void ShowCost(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ACCOUNT_COST_H_
