#include "operator/queue/record/decision_record.h"

#include <zlib.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "operator/queue/record/exact_time.h"
#include "operator/queue/record/recorded_input.h"
#include "proto/muster/v1alpha1/decision_record.pb.h"

namespace muster::control {
namespace {

namespace pb = v1alpha1;

constexpr uint32_t kVersion = 1;
// Bytes; 100,000 nodes and as many jobs take less.
constexpr uint64_t kMaxInput = uint64_t{256} << 20;

std::string Deflate(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string deflated(size, '\0');
  compress2(reinterpret_cast<Bytef*>(deflated.data()), &size,
            reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_SPEED);
  deflated.resize(size);
  return deflated;
}

absl::StatusOr<std::string> Inflate(const std::string& deflated, uint64_t size) {
  // Deflate shrinks nothing to less than a thousandth.
  if (size > kMaxInput || size > 1100 * (deflated.size() + 1)) {
    return absl::DataLossError(absl::StrCat("a decision's input cannot be ", size, " bytes long"));
  }
  std::string bytes(size, '\0');
  uLongf got = size;
  const int result = uncompress(reinterpret_cast<Bytef*>(bytes.data()), &got,
                                reinterpret_cast<const Bytef*>(deflated.data()), deflated.size());
  if (result != Z_OK || got != size) return absl::DataLossError("a decision's input is damaged");
  return bytes;
}

void Put(const Decision& decision, pb::RecordedDecision* into) {
  into->set_action(static_cast<uint32_t>(decision.action));
  into->set_reason(static_cast<uint32_t>(decision.reason));
  into->set_job(decision.job);
  into->set_workers(decision.workers);
  const Placement& placement = decision.placement;
  pb::RecordedPlacement* place = into->mutable_placement();
  for (const std::string& node : placement.nodes) place->add_nodes(node);
  place->set_level(placement.level);
  place->set_domain(placement.domain);
  place->set_score(placement.score);
  place->set_ring_seconds(placement.ring_seconds);
  into->set_for_job(decision.for_job);
  const ScheduleNumbers& numbers = decision.numbers;
  into->set_queue(numbers.queue);
  into->set_resource(numbers.resource);
  into->set_needed(numbers.needed);
  into->set_available(numbers.available);
  into->set_limit(numbers.limit);
  into->set_position(numbers.position);
  *into->mutable_expected_start() = ToExact(numbers.expected_start);
  into->set_blocked_by(numbers.blocked_by);
  into->set_cost(numbers.cost);
  into->set_cost_bound(numbers.cost_bound);
  into->set_gain(numbers.gain);
  into->set_detail(decision.detail);
  into->set_nearest_feasible_size(decision.nearest_feasible_size);
}

absl::StatusOr<Decision> Get(const pb::RecordedDecision& from) {
  if (from.action() > static_cast<uint32_t>(ScheduleAction::kGrow) ||
      from.reason() > static_cast<uint32_t>(kLastScheduleReason)) {
    return absl::DataLossError("a decision has an unknown action or reason");
  }
  Decision decision;
  decision.action = static_cast<ScheduleAction>(from.action());
  decision.reason = static_cast<ScheduleReason>(from.reason());
  decision.job = from.job();
  decision.workers = from.workers();
  const pb::RecordedPlacement& place = from.placement();
  decision.placement = {{place.nodes().begin(), place.nodes().end()},
                        place.level(),
                        place.domain(),
                        place.score(),
                        place.ring_seconds()};
  decision.for_job = from.for_job();
  decision.numbers = {from.queue(),
                      from.resource(),
                      from.needed(),
                      from.available(),
                      from.limit(),
                      from.position(),
                      TimeFromExact(from.expected_start()),
                      from.blocked_by(),
                      from.cost(),
                      from.cost_bound(),
                      from.gain()};
  decision.detail = from.detail();
  decision.nearest_feasible_size = from.nearest_feasible_size();
  return decision;
}

}  // namespace

std::string EncodeOutcome(const std::vector<Decision>& decisions) {
  pb::RecordedOutcome outcome;
  for (const Decision& decision : decisions) Put(decision, outcome.add_decisions());
  return outcome.SerializeAsString();
}

absl::StatusOr<std::vector<Decision>> DecodeOutcome(std::string_view bytes) {
  pb::RecordedOutcome outcome;
  if (!outcome.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("a decision's outcome is damaged");
  }
  std::vector<Decision> decisions;
  for (const auto& one : outcome.decisions()) {
    MUSTER_ASSIGN_OR_RETURN(Decision decision, Get(one));
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

std::string EncodeRecord(uint64_t id, const DecisionInput& input,
                         const std::vector<Decision>& decisions) {
  const std::string bytes = ToRecorded(input).SerializeAsString();
  pb::DecisionRecord record;
  record.set_version(kVersion);
  record.set_id(id);
  *record.mutable_now() = ToExact(input.now);
  record.set_input_bytes(bytes.size());
  record.set_input(Deflate(bytes));
  record.set_outcome(EncodeOutcome(decisions));
  return record.SerializeAsString();
}

// Reads only the first field: fields are written in the order of their numbers.
absl::StatusOr<uint64_t> RecordId(std::string_view bytes) {
  using google::protobuf::internal::WireFormatLite;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  uint64_t value = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_VARINT) break;
    if (!in.ReadVarint64(&value)) break;
    if (WireFormatLite::GetTagFieldNumber(tag) == pb::DecisionRecord::kIdFieldNumber) return value;
  }
  return absl::DataLossError("this is no record of a decision");
}

absl::StatusOr<DecisionRecord> DecodeRecord(std::string_view bytes) {
  pb::DecisionRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("this is no record of a decision");
  }
  if (record.version() != kVersion) {
    return absl::UnimplementedError(absl::StrCat("the record is of version ", record.version(),
                                                 "; this muster reads version ", kVersion));
  }
  MUSTER_ASSIGN_OR_RETURN(const std::string inflated,
                          Inflate(record.input(), record.input_bytes()));
  pb::RecordedInput input;
  if (!input.ParseFromString(inflated)) {
    return absl::DataLossError("a decision's input is damaged");
  }
  MUSTER_ASSIGN_OR_RETURN(DecisionInput given, FromRecorded(input));
  if (!record.has_outcome()) return absl::DataLossError("a decision's record was cut off");
  return DecisionRecord{record.id(), std::move(given), record.outcome()};
}

}  // namespace muster::control
