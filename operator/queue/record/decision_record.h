#ifndef MUSTER_OPERATOR_QUEUE_RECORD_DECISION_RECORD_H_
#define MUSTER_OPERATOR_QUEUE_RECORD_DECISION_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"

// A cycle of Schedule as bytes (proto/muster/v1alpha1/decision_record.proto). Lossless, down to the
// quarter nanosecond of a time.
namespace muster::control {

struct DecisionRecord {
  uint64_t id = 0;
  DecisionInput input;
  // The cycle's decisions, as EncodeOutcome wrote them.
  std::string outcome;
};

std::string EncodeRecord(uint64_t id, const DecisionInput& input,
                         const std::vector<Decision>& decisions);
// kDataLoss if the bytes are no record, kUnimplemented if the record is of another version.
absl::StatusOr<DecisionRecord> DecodeRecord(std::string_view bytes);

// Reads the id without inflating the rest. Returns kDataLoss if the bytes have no id.
absl::StatusOr<uint64_t> RecordId(std::string_view bytes);

// Equal decisions give equal bytes, and unequal ones do not.
std::string EncodeOutcome(const std::vector<Decision>& decisions);
absl::StatusOr<std::vector<Decision>> DecodeOutcome(std::string_view bytes);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_RECORD_DECISION_RECORD_H_
