#ifndef MUSTER_OPERATOR_QUEUE_RECORD_DECISION_JSON_H_
#define MUSTER_OPERATOR_QUEUE_RECORD_DECISION_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/record/decision_record.h"

// A record of a decision as people and other programs read it. Pure.
namespace muster::control {

struct DecisionLine {
  std::string action, job, reason, sentence;

  friend bool operator==(const DecisionLine&, const DecisionLine&) = default;
};

// One line for each decision, with jobs by their names.
std::vector<DecisionLine> LinesOf(const DecisionRecord& record,
                                  const std::vector<Decision>& decisions);
Json ToJson(const std::vector<DecisionLine>& lines);

// "2026-11-21T19:31:48.644Z".
std::string DecisionTime(absl::Time time);

// {"decision", "time", "nodes", "jobs", "queues", "decided": [{"action", "job", "reason",
// "sentence"}], "input", "outcome"}: the last two are RecordedInput and RecordedOutcome of
// decision_record.proto in protobuf's JSON. RecordFromJson rebuilds the same record, bit by bit.
absl::StatusOr<Json> ToJson(const DecisionRecord& record);
absl::StatusOr<DecisionRecord> RecordFromJson(const Json& json);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_RECORD_DECISION_JSON_H_
