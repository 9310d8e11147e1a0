#ifndef MUSTER_OPERATOR_WEB_ENCODE_H_
#define MUSTER_OPERATOR_WEB_ENCODE_H_

#include "base/json.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/objects/object_records.h"
#include "operator/reconcile/reconcile_log.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// Conversions of the pages' values to JSON. Pure.
namespace muster::control {

// Returns null for an infinity or NaN, which JSON does not have.
Json FiniteNumber(double value);

Json ToJson(const v1alpha1::StepReport& step);
Json ToJson(const v1alpha1::CheckpointReport& report);
Json ToJson(const ProgressSnapshot& snapshot);
Json ToJson(const AgentState& agent);
Json ToJson(const JobDebug& debug);
Json ToJson(const PodRecord& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_ENCODE_H_
