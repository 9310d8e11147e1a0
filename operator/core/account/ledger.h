#ifndef MUSTER_OPERATOR_CORE_ACCOUNT_LEDGER_H_
#define MUSTER_OPERATOR_CORE_ACCOUNT_LEDGER_H_

#include "operator/core/state/draft.h"

// The ledger of a job's time: every second of every rank that the job wants goes into exactly one
// use. It begins when the job was made and ends with the job. A leadership files time as it passes,
// by the state in which the job was left; a new leader files the time since status.ledger.until by
// the state that the status had. Time in a running round is divided by the times in the reports of
// its steps; what the last report does not cover when the round breaks is lost, and is filed as
// recovering.
namespace muster::control {

// Policy, one of the last, after Summarize(): files the time since the last decision in the memory.
void KeepLedger(Draft& draft);

// Brings status.ledger up to date. Called when the status is written anyhow, because the ledger
// alone is no reason to write.
void ShowLedger(Draft& draft);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_ACCOUNT_LEDGER_H_
